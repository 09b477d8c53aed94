/**
 * One connection: bytes in, commands one after the other, answers out.
 *
 * The commands of a connection run one at a time, in the order in which they arrived. A client that does not
 * wait for answers relies on that order.
 */

import type { Duplex } from 'node:stream'
import { machine } from '../base/clock.ts'
import { heavyAnswerBytesMin, heavyBytesMin, heavyTurnFor } from '../base/heavy-turns.ts'
import { giveUp } from '../base/large-buffer.ts'
import { KiB } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { MemoryLease } from '../base/memory-account.ts'
import { BsonWriter } from '../document/bson/writer.ts'
import { asMongoError, errorAnswer, plainErrorContext } from './answers/error-map.ts'
import { bytesOfBatch, type Fields, giveUpBatch, writeFields } from './answers/fields.ts'
import { dispatch } from './dispatch.ts'
import type { Outbox } from './outbox.ts'
import { checkInTurns } from './requests/arguments.ts'
import { CutConnection } from './service/fail-points.ts'
import type { MongoService } from './service/service.ts'
import type { Client } from './session/client.ts'
import { type Compressor, opCompressed, pack, unpack, unpackedBytes } from './wire/compression.ts'
import { FrameReader, FramingError, mongoMessageBytesMax } from './wire/frame.ts'
import {
  answerStart,
  type CommandMessage,
  checksumInTurns,
  finishOpMsg,
  opMsg,
  parseOpMsg,
  wantsAnswer,
} from './wire/op-msg.ts'
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

/**
 * Commands of one connection that are answered at once, in one turn of the event loop. A client may send
 * thousands together, and others wait meanwhile.
 */
const commandsInTurnMax = 16

/** A message must arrive whole in this time, once its client has logged in. It may be 48 MB. */
const mongoMessageMsMax = 60_000

/** How often a message that waits for memory looks again. */
const memoryWaitMs = 50

/** Answers from this size on are counted until the client has taken them. */
const largeAnswerBytes = 16 * KiB

const room = Buffer.alloc(answerStart)

/** Room for a document of about 1 KB with its envelope. Larger answers grow the buffer. */
const answerBytesExpected = 2048

interface Arrived {
  readonly message: Buffer
  /** Of a message that came in several parts. */
  readonly lease: MemoryLease | undefined
}

export class Connection {
  readonly #service: MongoService
  readonly #stream: Duplex
  readonly #client: Client
  readonly #outbox: Outbox
  readonly #onUnread: () => void
  readonly #reader: FrameReader
  #waiting: Arrived[] = []
  #waitingBytes = 0
  #isBusy = false
  /** The turn of the outbox, and how many commands were carried out in it. */
  #turn = 0
  #commandsInTurn = 0
  #isPausing = false
  #isClosing = false
  /** Whether the client waits for the answer of the command that is carried out. */
  #isAnswerWanted = true
  #lastRequestId = 0
  /** Ends a stranger's connection that waits for too long. */
  #strangerLimit: NodeJS.Timeout | undefined
  /** Ends the connection if a large message does not arrive, or finds no memory. */
  #messageLimit: NodeJS.Timeout | undefined

  constructor(
    service: MongoService,
    stream: Duplex,
    client: Client,
    { outbox, onUnread }: { readonly outbox: Outbox; readonly onUnread: () => void },
  ) {
    this.#service = service
    this.#stream = stream
    this.#client = client
    this.#outbox = outbox
    this.#onUnread = onUnread
    this.#reader = new FrameReader({
      onMessage: (message, lease) => this.#receive({ message, lease }),
      hold: bytes => this.#hold(bytes),
      bytesMax: mongoStrangerMessageBytesMax,
    })
    stream.on('data', (chunk: Buffer) => this.push(chunk))
    stream.on('drain', () => this.#proceed())
    stream.on('close', () => this.#abandon())
    this.#limitStranger(mongoStrangerMessageMsMax)
  }

  push(chunk: Buffer): void {
    this.#read(() => this.#reader.push(chunk))
  }

  #read(read: () => void): void {
    if (this.#isClosing) return
    if (this.#strangerLimit !== undefined) this.#watchStranger()
    const wasInMessage = this.#reader.isInMessage
    try {
      read()
    } catch (error) {
      this.#giveUp(error)
      return
    }
    if (!this.#reader.isInMessage) {
      machine.clearTimeout(this.#messageLimit)
      this.#messageLimit = undefined
    }
    if (this.#reader.isWaiting) this.#waitForMemory()
    if (this.#strangerLimit === undefined) return
    if (!this.#reader.isInMessage) this.#limitStranger(mongoStrangerIdleMsMax)
    // A message that arrives byte by byte does not get more time with each byte.
    else if (!wasInMessage) this.#limitStranger(mongoStrangerMessageMsMax)
  }

  /**
   * Takes memory for a message. Undefined: the message must wait. A stranger does not wait, but is
   * disconnected.
   */
  #hold(bytes: number): MemoryLease | undefined {
    const { share, isLoggedIn } = this.#client
    const lease = share.hold('bodies')
    const refusal = lease.tryAdd(bytes)
    if (refusal === undefined || !isLoggedIn) {
      if (refusal !== undefined) throw new FramingError(refusal.message)
      this.#messageLimit ??= this.#closeAfter(mongoMessageMsMax)
      return lease
    }
    return undefined
  }

  /** Reads nothing more from the socket until there is room for the message. */
  #waitForMemory(): void {
    this.#messageLimit ??= this.#closeAfter(mongoMessageMsMax)
    this.#stream.pause()
    machine
      .setTimeout(() => {
        this.#read(() => this.#reader.goOn())
        if (!this.#reader.isWaiting && !this.#isFull) this.#stream.resume()
      }, memoryWaitMs)
      .unref()
  }

  #closeAfter(ms: number): NodeJS.Timeout {
    return machine.setTimeout(() => this.#stream.destroy(), ms).unref()
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

  #receive(arrived: Arrived): void {
    if (this.#isClosing) {
      arrived.lease?.[Symbol.dispose]()
    } else if (this.#waiting.length > 0 || !this.#mayGoOn()) {
      this.#waiting.push(arrived)
      this.#waitingBytes += arrived.message.length
      if (this.#isFull) this.#stream.pause()
    } else {
      this.#handle(arrived)
    }
  }

  /** Whether to stop reading from the socket: too many messages wait, or too many bytes. */
  get #isFull(): boolean {
    return this.#waiting.length >= mongoWaitingMessagesMax || this.#waitingBytes >= this.#reader.bytesMax
  }

  /** Whether the next command may be carried out now. If so, it is counted. */
  #mayGoOn(): boolean {
    if (this.#isBusy || this.#isPausing || this.#stream.writableNeedDrain) return false
    if (this.#turn !== this.#outbox.turn) {
      this.#turn = this.#outbox.turn
      this.#commandsInTurn = 0
    }
    this.#commandsInTurn++
    if (this.#commandsInTurn <= commandsInTurnMax) return true
    this.#isPausing = true
    machine.setImmediate(() => {
      this.#isPausing = false
      this.#commandsInTurn = 0
      this.#proceed()
    })
    return false
  }

  #proceed(): void {
    while (this.#waiting.length > 0 && !this.#isClosing && this.#mayGoOn()) {
      const arrived = this.#waiting.shift()!
      this.#waitingBytes -= arrived.message.length
      this.#handle(arrived)
    }
    if (!this.#isFull && !this.#reader.isWaiting && this.#stream.isPaused()) this.#stream.resume()
  }

  /** The message is held until it is answered. */
  #handle({ message, lease }: Arrived): void {
    const end = () => lease?.[Symbol.dispose]()
    try {
      const answered = this.#answer(message)
      if (!(answered instanceof Promise)) {
        end()
        return
      }
      this.#isBusy = true
      answered.finally(end).then(
        () => this.#finish(),
        error => this.#giveUp(error),
      )
    } catch (error) {
      end()
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
        return this.#answerCompressed(message)
      default:
        throw new FramingError(`the operation code ${message.readInt32LE(12)}`)
    }
  }

  /** The decompressed message is held as well. If there is no room for it, the client may send it again. */
  #answerCompressed(message: Buffer): MaybePromise<void> {
    const lease = this.#client.share.hold('bodies')
    const bytes = unpackedBytes(message, this.#reader.bytesMax)
    // Until it has its header, it is there twice.
    const refusal = lease.tryAdd(2 * bytes)
    if (refusal !== undefined) {
      this.#reply(message, errorAnswer(asMongoError(refusal), plainErrorContext), undefined)
      return
    }
    const end = () => lease[Symbol.dispose]()
    const answered = andThen(unpack(message, this.#reader.bytesMax, this.#client.share), unpacked => {
      lease.release(bytes)
      if (unpacked.message.readInt32LE(12) !== opMsg) throw new FramingError('compressed, and no OP_MSG')
      return this.#answerCommand(unpacked.message, unpacked.compressor)
    })
    if (answered instanceof Promise) return answered.finally(end)
    end()
  }

  #answerCommand(message: Buffer, compressor: Compressor | undefined): MaybePromise<void> {
    const isWanted = wantsAnswer(message)
    this.#isAnswerWanted = isWanted
    const answered = message.length < heavyBytesMin ? this.#carryOut(message) : this.#carryOutInTurns(message)
    return andThen(answered, answer => {
      if (!isWanted) return
      const bytes = bytesOfBatch(answer)
      if (bytes < heavyAnswerBytesMin) return this.#reply(message, answer, compressor, bytes)
      return this.#replyInHeavyTurn(message, answer, compressor, bytes)
    })
  }

  /** A large answer is counted while it waits for its turn. */
  async #replyInHeavyTurn(
    message: Buffer,
    answer: Fields,
    compressor: Compressor | undefined,
    bytes: number,
  ): Promise<void> {
    const { share } = this.#client
    using lease = share.hold('answers')
    lease.force(bytes)
    await heavyTurnFor(() => {
      if (!this.#stream.destroyed) return this.#reply(message, answer, compressor, bytes)
      giveUpBatch(answer)
    }, share)
  }

  #reply(message: Buffer, answer: Fields, compressor: Compressor | undefined, batchBytes?: number): MaybePromise<void> {
    const reply = this.#encode(answer, batchBytes)
    finishOpMsg(reply, { requestId: this.#nextId(), responseTo: message.readInt32LE(4) })
    if (compressor === undefined) this.#send(reply)
    else
      return andThen(pack(reply, compressor), packed => {
        giveUp(reply)
        this.#send(packed)
      })
  }

  async #carryOutInTurns(message: Buffer): Promise<Fields> {
    const { share } = this.#client
    const checksum = await checksumInTurns(message, share)
    let parsed: CommandMessage
    try {
      parsed = parseOpMsg(message, checksum)
      await checkInTurns(parsed.body, share)
    } catch (error) {
      return errorAnswer(asMongoError(error), plainErrorContext)
    }
    return heavyTurnFor(() => {
      if (this.#client.hasGone && this.#isAnswerWanted) throw new FramingError('nobody who waits for the answer')
      return dispatch(this.#service, this.#client, { ...parsed, isChecked: true })
    }, share)
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

  #encode(answer: Fields, batchBytes = bytesOfBatch(answer)): Buffer {
    const writer = new BsonWriter(answerBytesExpected + batchBytes)
    writer.raw(room, 0, answerStart)
    const start = writer.open()
    writeFields(writer, answer)
    if (this.#client.isLoggedIn) {
      const time = this.#service.clusterTime.elements()
      writer.raw(time, 0, time.length)
    }
    writer.close(start)
    giveUpBatch(answer)
    return writer.bytes()
  }

  #send(reply: Buffer): void {
    if (this.#stream.destroyed) return
    if (this.#stream.writableCorked === 0) this.#holdBack()
    if (reply.length < largeAnswerBytes) {
      this.#stream.write(reply)
    } else {
      // It exists already, so it is counted even if there is no room. What it was made of was counted before.
      const lease = this.#client.share.hold('answers')
      lease.force(reply.length)
      this.#stream.write(reply, () => {
        lease[Symbol.dispose]()
        giveUp(reply)
      })
    }
    if (this.#stream.writableNeedDrain) this.#onUnread()
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
    this.#forget()
    this.#stream.destroy()
  }

  #forget(): void {
    this.#isClosing = true
    for (const { lease } of this.#waiting) lease?.[Symbol.dispose]()
    this.#waiting = []
    this.#reader.end()
    machine.clearTimeout(this.#strangerLimit)
    machine.clearTimeout(this.#messageLimit)
  }

  /** Stops the work of a client that has gone. */
  #abandon(): void {
    this.#forget()
    this.#client.hasGone = true
    // Nobody waited for the answer of an unacknowledged write.
    if (this.#isAnswerWanted) this.#service.operations.abandon(this.#client.connectionId)
    this.#service.cursors.closeOfClient(this.#client)
    this.#client.transaction?.expectEnd()
  }
}

function splitOnce(namespace: string): [string, string] {
  const at = namespace.indexOf('.')
  return at === -1 ? [namespace, ''] : [namespace.slice(0, at), namespace.slice(at + 1)]
}
