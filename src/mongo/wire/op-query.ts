/** OP_QUERY and OP_REPLY: the old message form. Drivers still use it for their first message. */

import { FramingError, headerBytes } from './frame.ts'

export const opQuery = 2004
const opReply = 1

const awaitCapable = 8

export interface HandshakeMessage {
  readonly requestId: number
  /** `admin.$cmd`. */
  readonly namespace: string
  readonly body: Buffer
}

export function parseOpQuery(message: Buffer): HandshakeMessage {
  const nameStart = headerBytes + 4
  const nameEnd = message.indexOf(0, nameStart)
  const bodyStart = nameEnd + 1 + 8
  if (nameEnd === -1 || message.length - bodyStart < 5) throw new FramingError('OP_QUERY is cut short')
  const bytes = message.readInt32LE(bodyStart)
  if (bytes < 5 || bytes > message.length - bodyStart) throw new FramingError('OP_QUERY without a whole document')
  return {
    requestId: message.readInt32LE(4),
    namespace: message.toString('utf8', nameStart, nameEnd),
    body: message.subarray(bodyStart, bodyStart + bytes),
  }
}

export function opReplyOf(
  document: Uint8Array,
  { requestId, responseTo }: { readonly requestId: number; readonly responseTo: number },
): Buffer {
  const documentStart = headerBytes + 20
  const reply = Buffer.alloc(documentStart + document.length)
  reply.writeInt32LE(reply.length, 0)
  reply.writeInt32LE(requestId, 4)
  reply.writeInt32LE(responseTo, 8)
  reply.writeInt32LE(opReply, 12)
  reply.writeInt32LE(awaitCapable, headerBytes)
  reply.writeInt32LE(1, headerBytes + 16)
  reply.set(document, documentStart)
  return reply
}
