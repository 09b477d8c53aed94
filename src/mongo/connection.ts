/**
 * One connection: bytes in, commands one after the other, answers out.
 *
 * The commands of a connection run one at a time, in the order in which they arrived. A client that does not
 * wait for answers relies on that order.
 */

import type { Duplex } from 'node:stream'
import { machine } from '../base/clock.ts'
import { KiB } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { BsonWriter } from '../document/bson/writer.ts'
import { asMongoError, errorAnswer, plainErrorContext } from './answers/error-map.ts'
import { type Fields, writeFields } from './answers/fields.ts'
import { dispatch } from './dispatch.ts'
import type { Outbox } from './outbox.ts'
import { CutConnection } from './service/fail-points.ts'
import type { MongoService } from './service/service.ts'
import type { Client } from './session/client.ts'
import { type Compressor, opCompressed, pack, unpack } from './wire/compression.ts'
import { FrameReader, FramingError, mongoMessageBytesMax } from './wire/frame.ts'
import { answerStart, finishOpMsg, opMsg, parseOpMsg, wantsAnswer } from './wire/op-msg.ts'
import { opQuery, opReplyOf, parseOpQuery } from './wire/op-query.ts'

/**
 * What a stranger may make us hold. Messages before login are small: a greeting or a step of the login.
 * Drivers also keep a connection open without login, to watch the server. It sends a greeting every ten
 * seconds by default.
 */
const mongoStrangerMessageBytesMax = 64 * KiB
const mongoStrangerMessageMsMax = 10_000
const mongoStrangerIdleMsMax = 120_000

/**
 * Messages of one connection that may wait. Drivers send one at a time. Further messages stay in the socket.
 */
const mongoWaitingMessagesMax = 64

const room = Buffer.alloc(answerStart)

/** Room for a document of about 1 KB with its envelope. Larger answers grow the buffer. */
const answerBytesExpected = 2048

export class Connection {
  readonly #service: MongoService
  readonly #stream: Duplex
  readonly #client: Client
  readonly #outbox: Outbox
  readonly #reader: FrameReader
  #waiting: Buffer[] = []
  #waitingBytes = 0
  #isBusy = false
  #isClosing = false
  #lastRequestId = 0
  /** Ends a stranger's connection that waits for too long. */
  #strangerLimit: NodeJS.Timeout | undefined

  constructor(service: MongoService, stream: Duplex, client: Client, outbox: Outbox) {
    this.#service = service
    this.#stream = stream
    this.#client = client
    this.#outbox = outbox
    this.#reader = new FrameReader(message => this.#receive(message), mongoStrangerMessageBytesMax)
    stream.on('data', (chunk: Buffer) => this.push(chunk))
    stream.on('drain', () => this.#proceed())
    stream.on('close', () => this.#abandon())
    this.#limitStranger(mongoStrangerMessageMsMax)
  }

  push(chunk: Buffer): void {
    if (this.#isClosing) return
    if (this.#strangerLimit !== undefined) this.#watchStranger()
    const wasInMessage = this.#reader.isInMessage
    try {
      this.#reader.push(chunk)
    } catch (error) {
      this.#giveUp(error)
      return
    }
    if (this.#strangerLimit === undefined) return
    if (!this.#reader.isInMessage) this.#limitStranger(mongoStrangerIdleMsMax)
    // A message that arrives byte by byte does not get more time with each byte.
    else if (!wasInMessage) this.#limitStranger(mongoStrangerMessageMsMax)
  }

  #watchStranger(): void {
    if (!this.#client.isLoggedIn) return
    machine.clearTimeout(this.#strangerLimit)
    this.#strangerLimit = undefined
    this.#reader.bytesMax = mongoMessageBytesMax
  }

  #limitStranger(ms: number): void {
    machine.clearTimeout(this.#strangerLimit)
    this.#strangerLimit = machine
      .setTimeout(() => {
        if (!this.#client.isLoggedIn) this.#stream.destroy()
      }, ms)
      .unref()
  }

  /** Closes the connection after the running command is answered. */
  close(): void {
    this.#isClosing = true
    if (!this.#isBusy) this.#end()
  }

  #receive(message: Buffer): void {
    if (this.#isBusy || this.#waiting.length > 0 || this.#stream.writableNeedDrain) {
      this.#waiting.push(message)
      this.#waitingBytes += message.length
      if (this.#isFull) this.#stream.pause()
    } else {
      this.#handle(message)
    }
  }

  /** Stop reading from the socket while this many messages wait. */
  get #isFull(): boolean {
    return this.#waiting.length >= mongoWaitingMessagesMax || this.#waitingBytes >= this.#reader.bytesMax
  }

  #proceed(): void {
    while (this.#waiting.length > 0 && !this.#isBusy && !this.#stream.writableNeedDrain && !this.#isClosing) {
      const message = this.#waiting.shift()!
      this.#waitingBytes -= message.length
      this.#handle(message)
    }
    if (!this.#isFull && this.#stream.isPaused()) this.#stream.resume()
  }

  #handle(message: Buffer): void {
    try {
      const answered = this.#answer(message)
      if (!(answered instanceof Promise)) return
      this.#isBusy = true
      answered.then(
        () => this.#finish(),
        error => this.#giveUp(error),
      )
    } catch (error) {
      this.#giveUp(error)
    }
  }

  #finish(): void {
    this.#isBusy = false
    if (this.#isClosing) this.#end()
    else this.#proceed()
  }

  #answer(message: Buffer): MaybePromise<void> {
    switch (message.readInt32LE(12)) {
      case opMsg:
        return this.#answerCommand(message, undefined)
      case opQuery:
        return this.#answerHandshake(message)
      case opCompressed:
        return andThen(unpack(message, this.#reader.bytesMax), unpacked => {
          if (unpacked.message.readInt32LE(12) !== opMsg) throw new FramingError('compressed, and no OP_MSG')
          return this.#answerCommand(unpacked.message, unpacked.compressor)
        })
      default:
        throw new FramingError(`the operation code ${message.readInt32LE(12)}`)
    }
  }

  #answerCommand(message: Buffer, compressor: Compressor | undefined): MaybePromise<void> {
    const isWanted = wantsAnswer(message)
    return andThen(this.#carryOut(message), answer => {
      if (!isWanted) return
      const reply = this.#encode(answer)
      finishOpMsg(reply, { requestId: this.#nextId(), responseTo: message.readInt32LE(4) })
      if (compressor === undefined) this.#send(reply)
      else return andThen(pack(reply, compressor), packed => this.#send(packed))
    })
  }

  #carryOut(message: Buffer): MaybePromise<Fields> {
    try {
      return dispatch(this.#service, this.#client, parseOpMsg(message))
    } catch (error) {
      if (error instanceof CutConnection) throw error
      return errorAnswer(asMongoError(error), plainErrorContext)
    }
  }

  /** In the old message form only the greeting is accepted. */
  #answerHandshake(message: Buffer): MaybePromise<void> {
    const { requestId, namespace, body } = parseOpQuery(message)
    const [database, rest] = splitOnce(namespace)
    if (rest !== '$cmd') throw new FramingError('OP_QUERY that is no command')
    return andThen(dispatch(this.#service, this.#client, { body, sequences: [], database }), answer => {
      const document = this.#encode(answer).subarray(answerStart)
      this.#send(opReplyOf(document, { requestId: this.#nextId(), responseTo: requestId }))
    })
  }

  #encode(answer: Fields): Buffer {
    const writer = new BsonWriter(answerBytesExpected)
    writer.raw(room, 0, answerStart)
    const start = writer.open()
    writeFields(writer, answer)
    if (this.#client.isLoggedIn) {
      const time = this.#service.clusterTime.elements()
      writer.raw(time, 0, time.length)
    }
    writer.close(start)
    return writer.bytes()
  }

  #send(reply: Buffer): void {
    if (this.#stream.destroyed) return
    if (this.#stream.writableCorked === 0) this.#holdBack()
    this.#stream.write(reply)
  }

  #holdBack(): void {
    if (!this.#isBusy) {
      this.#outbox.hold(this.#stream)
      return
    }
    // Answers that waited for one commit leave together anyway.
    this.#stream.cork()
    process.nextTick(() => this.#stream.uncork())
  }

  #end(): void {
    this.#stream.end(() => this.#stream.destroy())
  }

  #nextId(): number {
    this.#lastRequestId = (this.#lastRequestId + 1) & 0x7fffffff
    return this.#lastRequestId
  }

  #giveUp(error: unknown): void {
    if (error instanceof FramingError || error instanceof CutConnection) {
      this.#service.log.debug({ client: this.#client.clientAddress, reason: error.message }, 'closed a connection')
    } else {
      this.#service.log.error({ error }, 'a connection failed in a way it should not')
    }
    this.#isClosing = true
    this.#waiting = []
    this.#stream.destroy()
  }

  /** Stops the work of a client that has gone. */
  #abandon(): void {
    this.#isClosing = true
    this.#waiting = []
    machine.clearTimeout(this.#strangerLimit)
    this.#client.hasGone = true
    this.#service.operations.abandon(this.#client.connectionId)
  }
}

function splitOnce(namespace: string): [string, string] {
  const at = namespace.indexOf('.')
  return at === -1 ? [namespace, ''] : [namespace.slice(0, at), namespace.slice(at + 1)]
}
