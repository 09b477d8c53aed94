/** A minimal Mongo client, for messages that no driver would send. */

import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { Binary, type Document, deserialize, serialize } from 'bson'

export interface Reply {
  readonly requestId: number
  readonly responseTo: number
  readonly opcode: number
  readonly flags: number
  readonly body: Document
  readonly bytes: Buffer
}

export class RawClient {
  readonly socket: Socket
  readonly #replies: Reply[] = []
  readonly #waiting: ((reply: Reply | undefined) => void)[] = []
  #bytes: Buffer = Buffer.alloc(0)
  #lastId = 0
  isClosed = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on('data', chunk => this.#receive(chunk))
    socket.on('error', () => {})
    socket.on('close', () => {
      this.isClosed = true
      for (const waiting of this.#waiting.splice(0)) waiting(undefined)
    })
  }

  static async open(uri: string): Promise<RawClient> {
    const { hostname, port } = new URL(uri)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await new Promise<void>((resolve, reject) => {
      socket.once('connect', resolve)
      socket.once('error', reject)
    })
    return new RawClient(socket)
  }

  /** With the account key, as a driver logs in. */
  static async loggedIn(uri: string): Promise<RawClient> {
    const client = await RawClient.open(uri)
    const { username, password } = new URL(uri)
    const answer = await client.login(username, decodeURIComponent(password))
    if (answer.ok !== 1) throw new Error(`the login failed: ${JSON.stringify(answer)}`)
    return client
  }

  async login(user: string, password: string, $db = 'admin'): Promise<Document> {
    const nonce = randomBytes(18).toString('base64')
    const first = `n=${user},r=${nonce}`
    const started = await this.command({
      saslStart: 1,
      mechanism: 'SCRAM-SHA-256',
      payload: new Binary(Buffer.from(`n,,${first}`)),
      options: { skipEmptyExchange: true },
      $db,
    })
    if (started.ok !== 1) return started
    const challenge = Buffer.from(started.payload.buffer).toString()
    const [r, s, i] = challenge.split(',').map(part => part.slice(2))
    const salted = pbkdf2Sync(password, Buffer.from(s!, 'base64'), Number(i), 32, 'sha256')
    const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest()
    const clientKey = hmac(salted, 'Client Key')
    const unproven = `c=biws,r=${r}`
    const signature = hmac(createHash('sha256').update(clientKey).digest(), `${first},${challenge},${unproven}`)
    const proof = Buffer.from(clientKey.map((byte, at) => byte ^ signature[at]!)).toString('base64')
    return this.command({
      saslContinue: 1,
      conversationId: started.conversationId,
      payload: new Binary(Buffer.from(`${unproven},p=${proof}`)),
      $db,
    })
  }

  async command(body: Document): Promise<Document> {
    this.send(opMsg(serialize(body), { requestId: ++this.#lastId }))
    const reply = await this.next()
    if (reply === undefined) throw new Error('the connection was closed')
    return reply.body
  }

  send(bytes: Uint8Array): void {
    this.socket.write(bytes)
  }

  /** undefined if the connection was closed. */
  next(): Promise<Reply | undefined> {
    const reply = this.#replies.shift()
    if (reply !== undefined || this.isClosed) return Promise.resolve(reply)
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  close(): void {
    this.socket.destroy()
  }

  #receive(chunk: Buffer): void {
    this.#bytes = Buffer.concat([this.#bytes, chunk])
    while (this.#bytes.length >= 16 && this.#bytes.length >= this.#bytes.readInt32LE(0)) {
      const bytes = this.#bytes.subarray(0, this.#bytes.readInt32LE(0))
      this.#bytes = this.#bytes.subarray(bytes.length)
      const reply = readReply(bytes)
      const waiting = this.#waiting.shift()
      if (waiting === undefined) this.#replies.push(reply)
      else waiting(reply)
    }
  }
}

function readReply(bytes: Buffer): Reply {
  const opcode = bytes.readInt32LE(12)
  const bodyAt = opcode === 1 ? 36 : 21
  const isReadable = opcode === 1 || opcode === 2013
  return {
    requestId: bytes.readInt32LE(4),
    responseTo: bytes.readInt32LE(8),
    opcode,
    flags: isReadable && opcode === 2013 ? bytes.readUInt32LE(16) : 0,
    body: isReadable ? deserialize(bytes.subarray(bodyAt), { bsonRegExp: true }) : {},
    bytes,
  }
}

export function message(opcode: number, content: Uint8Array, requestId = 1): Buffer {
  const bytes = Buffer.alloc(16 + content.length)
  bytes.writeInt32LE(bytes.length, 0)
  bytes.writeInt32LE(requestId, 4)
  bytes.writeInt32LE(opcode, 12)
  bytes.set(content, 16)
  return bytes
}

export function section(kind: number, content: Uint8Array): Buffer {
  return Buffer.concat([Buffer.of(kind), content])
}

export function sequence(name: string, documents: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat([Buffer.from(`${name}\0`), ...documents])
  const size = Buffer.alloc(4)
  size.writeInt32LE(content.length + 4)
  return section(1, Buffer.concat([size, content]))
}

export function opMsg(
  body: Uint8Array,
  { requestId = 1, flags = 0, sections = [] }: { requestId?: number; flags?: number; sections?: Uint8Array[] } = {},
): Buffer {
  const flagBits = Buffer.alloc(4)
  flagBits.writeUInt32LE(flags)
  return message(2013, Buffer.concat([flagBits, section(0, body), ...sections]), requestId)
}
