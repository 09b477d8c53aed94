/**
 * The Mongo protocol as the benchmarks speak it: OP_MSG both ways, one answer to each request, and a login.
 */

import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto'
import { Binary, type Document, deserialize, Long, serialize } from 'bson'
import { Connection, type Failed, type Framing } from './connection.ts'
import { MASTER_KEY } from './sign.ts'

const OP_MSG = 2013
const HEADER_BYTES = 16
/** Bytes of header, flags, and the kind of the first section. */
const BODY_START = HEADER_BYTES + 5
const USER = 'localhost'

/** Returns complete messages; `documentOf` decodes them. */
export type MongoConnection = Connection<Buffer>

/** A request: a command, followed by documents as a sequence of that name. */
export function opMsg(command: Document, sequence?: { readonly name: string; readonly documents: Buffer }): Buffer {
  const body = serialize(command)
  const parts = [Buffer.alloc(BODY_START), body]
  if (sequence !== undefined) {
    const name = Buffer.from(`${sequence.name}\0`)
    const head = Buffer.alloc(5)
    head[0] = 1
    head.writeInt32LE(4 + name.length + sequence.documents.length, 1)
    parts.push(head, name, sequence.documents)
  }
  const message = Buffer.concat(parts)
  message.writeInt32LE(message.length, 0)
  message.writeInt32LE(OP_MSG, 12)
  return message
}

export function setRequestId(message: Buffer, id: number): void {
  message.writeInt32LE(id, 4)
}

/**
 * Checks an answer by its length: all documents have the same number of bytes, so an error, a missing
 * document or an extra one changes the length.
 */
export class MongoFraming implements Framing<Buffer> {
  readonly #expectedBytes: number | undefined
  #requestId = 0
  #bytes = 0
  #missingBytes = 0

  constructor(expectedBytes?: number) {
    this.#expectedBytes = expectedBytes
  }

  begin(request: Buffer): void {
    this.#requestId = request.readInt32LE(4)
    this.#bytes = 0
  }

  push(chunk: Buffer): boolean {
    if (this.#bytes === 0) {
      if (chunk.length < HEADER_BYTES) throw new Error('An answer that begins with less than a header.')
      if (chunk.readInt32LE(8) !== this.#requestId) throw new Error('An answer to another request.')
      this.#bytes = chunk.readInt32LE(0)
      this.#missingBytes = this.#bytes
    }
    this.#missingBytes -= chunk.length
    if (this.#missingBytes < 0) throw new Error(`${-this.#missingBytes} bytes more than announced.`)
    return this.#missingBytes === 0
  }

  fault(): string | undefined {
    return this.#bytes === this.#expectedBytes
      ? undefined
      : `An answer of ${this.#bytes} bytes, not ${this.#expectedBytes}.`
  }

  parse(answer: Buffer): Buffer {
    return answer
  }
}

export function documentOf(answer: Buffer): Document {
  return deserialize(answer.subarray(BODY_START))
}

/** A cursor id as `getMore` wants it. `documentOf` makes a number of a small one. */
export function cursorId(id: unknown): Long {
  return Long.fromString(String(id))
}

export async function openMongo(port: number, failed: Failed, needsLogin = true): Promise<MongoConnection> {
  const connection = await Connection.open(port, new MongoFraming(), failed)
  if (needsLogin) await logIn(connection)
  return connection
}

/** The answer to one message, which must be a good one. */
export async function askMongo(connection: MongoConnection, message: Buffer): Promise<Buffer> {
  const answer = await connection.ask(message)
  const document = documentOf(answer)
  if (document.ok !== 1 || document.writeErrors !== undefined) throw new Error(`Answered: ${JSON.stringify(document)}`)
  return answer
}

async function run(connection: MongoConnection, command: Document): Promise<Document> {
  return documentOf(await askMongo(connection, opMsg(command)))
}

/** Cached, because deriving the key of a password takes milliseconds. The server has one salt per user. */
const saltedPasswords = new Map<string, Buffer>()

/** SCRAM-SHA-256 with the account key, as every driver does it. */
export async function logIn(connection: MongoConnection): Promise<void> {
  const clientFirst = `n=${USER},r=${randomBytes(24).toString('base64')}`
  const start = await run(connection, {
    saslStart: 1,
    mechanism: 'SCRAM-SHA-256',
    payload: new Binary(Buffer.from(`n,,${clientFirst}`)),
    options: { skipEmptyExchange: true },
    $db: 'admin',
  })
  const serverFirst = textOf(start.payload)
  const [, nonce, salt, iterations] = /^r=([^,]+),s=([^,]+),i=(\d+)$/.exec(serverFirst)!
  const passwordKey = `${salt} ${iterations}`
  let salted = saltedPasswords.get(passwordKey)
  if (salted === undefined) {
    salted = pbkdf2Sync(MASTER_KEY, Buffer.from(salt!, 'base64'), Number(iterations), 32, 'sha256')
    saltedPasswords.set(passwordKey, salted)
  }
  const clientKey = createHmac('sha256', salted).update('Client Key').digest()
  const storedKey = createHash('sha256').update(clientKey).digest()
  const withoutProof = `c=biws,r=${nonce}`
  const signature = createHmac('sha256', storedKey).update(`${clientFirst},${serverFirst},${withoutProof}`).digest()
  const proof = Buffer.from(clientKey.map((byte, at) => byte ^ signature[at]!)).toString('base64')
  await run(connection, {
    saslContinue: 1,
    conversationId: start.conversationId,
    payload: new Binary(Buffer.from(`${withoutProof},p=${proof}`)),
    $db: 'admin',
  })
}

function textOf(payload: unknown): string {
  return Buffer.from((payload as Binary).buffer).toString()
}
