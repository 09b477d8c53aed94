/**
 * OP_MSG: a command as one body and any number of document sequences. Every answer has this form too.
 *
 * Errors inside a well-framed message are errors of the command (`CommandError`), with MongoDB's code.
 */

import { heavyTurnFor } from '../../base/heavy-turns.ts'
import { MiB } from '../../base/limits.ts'
import { CommandError } from '../answers/command-error.ts'
import { crc32c } from './crc32c.ts'
import { headerBytes } from './frame.ts'

export const opMsg = 2013

const checksumPresent = 1 << 0
const moreToCome = 1 << 1

/** Bits a receiver must understand or refuse; the upper half may be ignored. */
const requiredFlags = 0xffff

const checksumBytes = 4

/** No command has more than two. Each is compared with those before it and with the fields of the body. */
const mongoSequencesMax = 16
const sectionsStart = headerBytes + 4

/** Documents one after the other, each with its length. They have not been parsed yet. */
export interface DocumentSequence {
  readonly name: string
  readonly documents: Buffer
}

export interface CommandMessage {
  /** One document, not parsed yet. */
  readonly body: Buffer
  readonly sequences: readonly DocumentSequence[]
}

/** Whether the client waits for an answer. Readable even if the rest of the message is broken. */
export function wantsAnswer(message: Buffer): boolean {
  return message.length < sectionsStart || (message.readUInt32LE(headerBytes) & moreToCome) === 0
}

/** The part of a long message that is summed in one turn. */
const summedBytesMax = MiB

/** The checksum of a long message, if it has one: others have turns meanwhile. */
export async function checksumInTurns(message: Buffer, by: object): Promise<number | undefined> {
  if (message.length < sectionsStart || !hasChecksum(message)) return undefined
  const end = message.length - checksumBytes
  let sum = 0
  for (let at = 0; at < end; at += summedBytesMax) {
    sum = await heavyTurnFor(() => crc32c(message.subarray(at, Math.min(end, at + summedBytesMax)), sum), by)
  }
  return sum
}

function hasChecksum(message: Buffer): boolean {
  return (message.readUInt32LE(headerBytes) & checksumPresent) !== 0
}

/** `knownSum` is the checksum of a message that has been summed before. */
export function parseOpMsg(message: Buffer, knownSum?: number): CommandMessage {
  if (message.length < sectionsStart) throw new CommandError('InvalidBSON', 'OP_MSG is shorter than its flags')
  const flags = message.readUInt32LE(headerBytes)
  if ((flags & requiredFlags & ~(checksumPresent | moreToCome)) !== 0) {
    throw new CommandError('IllegalOpMsgFlag', `Message contains illegal flags value: Ob${flags.toString(2)}`)
  }
  const end = hasChecksum(message) ? verifiedEnd(message, knownSum) : message.length
  let body: Buffer | undefined
  const sequences: DocumentSequence[] = []
  let at = sectionsStart
  while (at < end) {
    const kind = message[at]!
    at++
    const bytes = end - at >= 4 ? message.readInt32LE(at) : -1
    if (bytes < 5 || bytes > end - at) {
      throw new CommandError('InvalidBSON', 'A section of OP_MSG is longer than the message or shorter than a document')
    }
    const section = message.subarray(at, at + bytes)
    at += bytes
    if (kind === 0) {
      if (body !== undefined) throw new CommandError(40430, 'Multiple body sections in message')
      body = section
    } else if (kind === 1) {
      if (sequences.length === mongoSequencesMax) {
        throw new CommandError('BadValue', `OP_MSG may have at most ${mongoSequencesMax} document sequences`)
      }
      sequences.push(parseSequence(section, sequences))
    } else {
      throw new CommandError(40432, `Unknown section kind ${kind}`)
    }
  }
  if (body === undefined) throw new CommandError(40587, 'OP_MSG messages must have a body')
  return {
    body,
    sequences,
  }
}

function verifiedEnd(message: Buffer, knownSum?: number): number {
  const end = message.length - checksumBytes
  if (end < sectionsStart || (knownSum ?? crc32c(message.subarray(0, end))) !== message.readUInt32LE(end)) {
    throw new CommandError('ChecksumMismatch', 'OP_MSG checksum does not match contents')
  }
  return end
}

function parseSequence(section: Buffer, before: readonly DocumentSequence[]): DocumentSequence {
  const nameEnd = section.indexOf(0, 4)
  if (nameEnd === -1) throw new CommandError('InvalidBSON', 'The name of a document sequence does not end')
  const name = section.toString('utf8', 4, nameEnd)
  if (before.some(sequence => sequence.name === name)) {
    throw new CommandError(40431, `Duplicate document sequence: ${name}`)
  }
  return { name, documents: section.subarray(nameEnd + 1) }
}

/** Where the document of an answer begins. */
export const answerStart = sectionsStart + 1

/** Writes the header of an answer. The document is already there, at `answerStart`. */
export function finishOpMsg(answer: Buffer, ids: { readonly requestId: number; readonly responseTo: number }): void {
  answer.writeInt32LE(answer.length, 0)
  answer.writeInt32LE(ids.requestId, 4)
  answer.writeInt32LE(ids.responseTo, 8)
  answer.writeInt32LE(opMsg, 12)
  answer.writeUInt32LE(0, headerBytes)
  answer[sectionsStart] = 0
}
