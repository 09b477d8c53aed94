/**
 * Change streams: changes of documents, collections and databases as events, from now on or from an earlier
 * place.
 *
 * A stream reads the journal (`store/port.ts`), which has the changes of all collections and the notes about
 * them in one order, and shows what belongs to its scope. A stream over a collection ends when the collection
 * is dropped or renamed, a stream over a database when that is dropped. A stream that has shown everything
 * waits, and costs nothing until something is written.
 */

import { type EpochSeconds, machine, toEpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { KiB, pageBytesMax, pageItemsMax } from '../../base/limits.ts'
import { heldHere } from '../../base/memory-account.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { type DocumentBatch, documentBytes } from '../../mql/stages/stage.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { type JournalEntry, type JournalPlace, wholeRange } from '../../store/reading.ts'
import { CommandError } from '../answers/command-error.ts'
import { mongoChangeLogSeconds, parseNote, type StoredNote } from '../collections/catalog-notes.ts'
import { storedDefinition } from '../collections/collection-definition.ts'
import { type Collection, collectionsOf, findCollection, keepLog } from '../collections/collections.ts'
import { mark, type WatchScope } from '../collections/watched-collections.ts'
import { isSystemCollection } from '../requests/namespace.ts'
import { incrementOf } from '../service/cluster-time.ts'
import type { CommandCall } from '../service/command.ts'
import type { BatchRequest, CursorBatch, CursorSource, Fetching } from '../service/cursors.ts'
import {
  changeEvent,
  type EventCollection,
  type EventTime,
  invalidateEvent,
  type LoggedChange,
  noteEvent,
} from './event.ts'
import type { StreamOptions } from './options.ts'
import { eventBytesMax, splitEvent } from './split-event.ts'
import { type OldPositions, parseToken, type StreamPosition, tokenOf } from './token.ts'

/**
 * What is read of the journal at a time, in about a millisecond, and so the largest answer. Larger ones would
 * not be faster for their clients, and hundreds of streams make theirs at the same time.
 */
const journalPiece = { itemsMax: 100, bytesMax: 512 * KiB }

/** Databases whose changes a stream over everything does not show. */
const ownDatabases: ReadonlySet<string> = new Set(['admin', 'config', 'local'])

export interface StreamRequest {
  readonly scope: WatchScope
  readonly options: StreamOptions
  /** Runs the rest of the pipeline, anew for each batch of events. undefined: there is no rest. */
  readonly pipeline: ((events: DocumentBatch, by: Fetching) => Promise<readonly BsonDocument[]>) | undefined
  /** Whether events that are too large come in fragments. */
  readonly splitsEvents: boolean
}

/** The place of the stream is fixed at once: commands that write and arrive later wait until it is open. */
export function openChangeStream(call: CommandCall, request: StreamRequest): Promise<CursorSource> {
  const stream = new ChangeStream(call, request)
  return call.service.streams.hold(stream.open().then(() => stream))
}

class ChangeStream implements CursorSource {
  readonly isChangeStream = true
  readonly #call: CommandCall
  readonly #request: StreamRequest
  #place: JournalPlace = { tick: 0, ts: toEpochSeconds(0) }
  /** It has read everything that was there. */
  #isAtEnd = false
  #isOver = false
  /** The last event ends the stream, and the event that says so is still to come. */
  #owesInvalidate = false
  /** The last fragment of the first event that was delivered before; undefined: none was. */
  #fragmentsSeen: number | undefined
  /** Results that did not fit into the batches so far. */
  #waiting: Uint8Array[] = []

  constructor(call: CommandCall, request: StreamRequest) {
    this.#call = call
    this.#request = request
  }

  get resumeToken(): BsonDocument {
    return this.#token()
  }

  get #engine() {
    return this.#call.service.engine
  }

  async open(): Promise<void> {
    const { scope, options } = this.#request
    const { start } = options
    const now = await this.#engine.journalNow()
    await mark(this.#engine, scope)
    const collections = await this.#collections()
    const from = start.kind === 'now' ? now : await this.#startOf(start, now, collections)
    for (const { container, definition } of collections) {
      const isNew = container.logSeconds === null
      const isLost = isNew
        ? from.ts < now.ts || (start.kind === 'since' && (await this.#wasWrittenIn(container, now.ts)))
        : (definition.loggedSince ?? 0) > from.ts
      if (isLost) throw historyLost('Nobody watched at that time, so nothing is remembered of it.')
      if (isNew) await keepLog(this.#engine, container)
    }
    this.#place = from
  }

  /** Whether a collection without a log was written in this second. Deleted documents are not noticed. */
  async #wasWrittenIn(container: ContainerRecord, second: EpochSeconds): Promise<boolean> {
    let after = await this.#engine.changesSince(container, second)
    for (;;) {
      const page = { itemsMax: pageItemsMax, bytesMax: pageBytesMax }
      const { items, position, isEnd } = await this.#engine.readChanges(container, { within: wholeRange, after }, page)
      if (items.some(({ ts }) => ts >= second)) return true
      if (isEnd) return false
      after = position
    }
  }

  async #startOf(
    start: Exclude<StreamOptions['start'], { kind: 'now' }>,
    now: JournalPlace,
    collections: readonly Collection[],
  ): Promise<JournalPlace> {
    if (start.kind === 'since') {
      if (start.seconds > now.ts) return now
      const ts = remembered(start.seconds, now)
      return { tick: await this.#engine.journalSince(ts), ts }
    }
    const { token } = start
    if (token.kind === 'old') {
      return token.isInvalidate ? now : { tick: await this.#tickOfOld(token.positions, collections, now), ts: now.ts }
    }
    const { tick, seconds, fragment, owesInvalidate } = token.position
    if (tick > now.tick) {
      throw new CommandError('ChangeStreamFatalError', 'cannot resume stream; the resume token was not found.')
    }
    const ts = remembered(seconds, now)
    this.#owesInvalidate = owesInvalidate
    if (fragment === undefined) return { tick, ts }
    if (!this.#request.splitsEvents) {
      throw new CommandError(
        'ChangeStreamFatalError',
        'To resume from a split event, the stream must include a $changeStreamSplitLargeEvent stage',
      )
    }
    this.#fragmentsSeen = fragment
    return { tick: tick - 1, ts }
  }

  /**
   * The tick of a token of an earlier version. In SQLite positions are ticks, and the highest one is where
   * the stream was. In PostgreSQL it continues before the first entry behind one of the positions.
   */
  async #tickOfOld(positions: OldPositions, collections: readonly Collection[], now: JournalPlace): Promise<number> {
    let first = now.tick + 1
    for (const { container } of collections) {
      if (container.logSeconds === null) continue
      const after = positions.get(container.number) ?? '0'
      const page = { itemsMax: 1, bytesMax: pageBytesMax }
      const { entries, isForgotten } = await this.#engine.readLog(container, { within: wholeRange, after }, page)
      if (isForgotten && positions.has(container.number)) throw historyLost()
      if (entries[0] !== undefined) first = Math.min(first, entries[0].tick)
    }
    const ticks = [...positions.values()].map(Number)
    return ticks.every(Number.isSafeInteger) ? Math.min(Math.max(0, ...ticks), now.tick) : first - 1
  }

  async #collections(): Promise<Collection[]> {
    const { scope } = this.#request
    switch (scope.kind) {
      case 'collection': {
        const found = await findCollection(this.#engine, scope.namespace)
        return found === undefined ? [] : [found]
      }
      case 'database': {
        const database = await this.#engine.catalog.findDatabase(scope.database)
        return database === undefined ? [] : collectionsOf(this.#engine, database)
      }
      case 'cluster': {
        const databases = (await this.#engine.catalog.databases()).filter(({ id }) => !ownDatabases.has(id))
        return (await Promise.all(databases.map(database => collectionsOf(this.#engine, database)))).flat()
      }
    }
  }

  async next(request: BatchRequest): Promise<CursorBatch> {
    const { by, waitMs = this.#call.service.streams.waitMs() } = request
    const endMs = machine.monotonicMs() + waitMs
    for (;;) {
      const mustWait = waitMs > 0 && this.#isAtEnd && this.#waiting.length === 0 && !this.#isOver
      if (mustWait && !(await this.#hasNews(by, endMs))) return this.#batch([])
      if (this.#waiting.length === 0 && !this.#isOver) await this.#read(request, waitMs > 0 ? endMs : undefined)
      const documents = this.#take(request)
      if (documents.length > 0 || this.#isOver || machine.monotonicMs() >= endMs) return this.#batch(documents)
    }
  }

  /** Waits for entries behind the place; false when the time is over. */
  async #hasNews(by: BatchRequest['by'], endMs: number): Promise<boolean> {
    const ms = endMs - machine.monotonicMs()
    if (ms <= 0) return false
    const { operation } = by
    const onBegin = (end: () => void) => {
      operation.onStop = end
    }
    const news = this.#engine.awaitJournal(this.#place.tick, { ms, onBegin })
    const hasNews = await this.#call.service.streams.wait(news)
    operation.onStop = undefined
    operation.check()
    // Nothing happened up to now, so the place gets the present second.
    if (!hasNews) this.#place = { tick: this.#place.tick, ts: this.#now() }
    return hasNews
  }

  #now(): EpochSeconds {
    return toEpochSeconds(Math.max(this.#place.ts, this.#call.service.clock.now()))
  }

  #batch(documents: readonly Uint8Array[]): CursorBatch {
    const isEnd = this.#isOver && this.#waiting.length === 0
    const last = documents.at(-1)
    const resumeToken = this.#waiting.length === 0 ? this.#token() : last && tokenOfEvent(last)
    return { documents, isEnd, ...(resumeToken !== undefined && { resumeToken }) }
  }

  #take({ documentsMax, bytesMax }: BatchRequest): Uint8Array[] {
    let [count, bytes] = [0, 0]
    for (const { length } of this.#waiting) {
      if (count === documentsMax || (count > 0 && bytes + length > bytesMax)) break
      count++
      bytes += length
    }
    heldHere()?.release(bytes)
    return this.#waiting.splice(0, count)
  }

  #token(isInvalidate = this.#isOver): BsonDocument {
    const { tick, ts: seconds } = this.#place
    return tokenOf({ tick, seconds, isInvalidate, owesInvalidate: this.#owesInvalidate, fragment: undefined })
  }

  /** Reads on until there are results, the end is reached, or the time is over. */
  async #read(request: BatchRequest, endMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { by } = request
    const mustGoOn = () => this.#waiting.length === 0 && !this.#isAtEnd && !this.#isOver
    do {
      const events = this.#owesInvalidate ? [this.#invalidate()] : await this.#readPiece(request)
      if (events.length > 0) this.#waiting = await this.#results(events, by)
      heldHere()?.set(this.#waiting.reduce((sum, { length }) => sum + length, 0))
      by.operation.check()
    } while (mustGoOn() && machine.monotonicMs() < endMs)
  }

  /** The events of the next entries: at most as many as an answer may have. */
  async #readPiece({ documentsMax, bytesMax, by }: BatchRequest): Promise<Uint8Array[]> {
    const { slice } = this.#call.service.streams
    if (slice.isOver) await this.#nextSlice(by)
    const { entries, reached, isEnd } = await this.#engine.readJournal(this.#place.tick, journalPiece)
    this.#isAtEnd = false
    const events: Uint8Array[] = []
    let bytes = 0
    for (const entry of entries) {
      if (slice.isOver) await this.#nextSlice(by)
      const before = this.#place
      this.#place = { tick: entry.tick, ts: entry.ts }
      const event = this.#isBehindStart(entry) ? await this.#eventOf(entry, by) : undefined
      if (event === undefined) continue
      if (events.length > 0 && bytes + event.length > bytesMax) {
        this.#owesInvalidate = false
        this.#place = before
        return events
      }
      events.push(event)
      bytes += event.length
      if (events.length >= documentsMax || this.#owesInvalidate) return events
    }
    this.#place = reached
    this.#isAtEnd = isEnd
    return events
  }

  async #nextSlice({ operation }: BatchRequest['by']): Promise<void> {
    await this.#call.service.streams.slice.next()
    operation.check()
  }

  #isBehindStart({ tick, ts }: JournalPlace): boolean {
    const { start } = this.#request.options
    if (start.kind !== 'since' || ts > start.seconds) return true
    return ts === start.seconds && incrementOf(tick) >= start.increment
  }

  #invalidate(): Uint8Array {
    this.#owesInvalidate = false
    this.#isOver = true
    return invalidateEvent({ ...this.#place, ms: 0 }, this.#token())
  }

  async #eventOf(entry: JournalEntry, by: BatchRequest['by']): Promise<Uint8Array | undefined> {
    return entry.kind === 'note'
      ? this.#eventOfNote(entry, parseNote(entry.note as Uint8Array))
      : this.#change(entry, by)
  }

  async #change(entry: JournalEntry & { kind: 'item' }, by: BatchRequest['by']): Promise<Uint8Array | undefined> {
    const { change, container, number } = entry
    const { service } = this.#call
    const collection = collectionAt(entry)
    if (collection === undefined || !this.#isInScope(collection.namespace)) return undefined
    if (change.kind === 'expire' && !service.settings.areExpiryEventsOn) return undefined
    if (isSameDocument(change)) return undefined
    if (container !== undefined) by.chargeRu += this.#engine.chargePage(container, 1, change.body?.length ?? 0)
    return changeEvent(change, entry, this.#token(), {
      collection,
      options: this.#request.options,
      origin: service.origins.find(number, change),
      lookUp: async () => {
        if (container === undefined) return undefined
        try {
          const { item } = await this.#engine.uncharged.read(container, change.key)
          return item?.body as Uint8Array | undefined
        } catch (error) {
          // The collection was dropped after its entries had been read.
          if (error instanceof RequestError && error.kind === 'namespace_not_found') return undefined
          throw error
        }
      },
    })
  }

  #eventOfNote(time: EventTime, note: StoredNote): Uint8Array | undefined {
    const { scope, options } = this.#request
    const { type, namespace, to } = note
    const isExpanded = type !== 'drop' && type !== 'rename' && type !== 'dropDatabase'
    if (type === 'replaced' || (isExpanded && !options.isExpanded)) return undefined
    const isTarget = to !== undefined && this.#isInScope({ database: namespace.database, collection: to })
    if (!this.#isInScope(namespace) && !isTarget) return undefined
    const endsCollection = scope.kind === 'collection' && (type === 'drop' || type === 'rename')
    this.#owesInvalidate = endsCollection || (scope.kind === 'database' && type === 'dropDatabase')
    return noteEvent(note, time, this.#token(), options)
  }

  #isInScope({ database, collection }: Namespace): boolean {
    const { scope } = this.#request
    switch (scope.kind) {
      case 'collection':
        return database === scope.namespace.database && collection === scope.namespace.collection
      case 'database':
        return database === scope.database && !isSystemCollection(collection)
      case 'cluster':
        return !ownDatabases.has(database) && !isSystemCollection(collection)
    }
  }

  /** What the rest of the pipeline makes of events, in fragments where they are too large. */
  async #results(events: readonly Uint8Array[], by: Fetching): Promise<Uint8Array[]> {
    const { pipeline, splitsEvents } = this.#request
    const results = pipeline === undefined ? [...events] : await piped(views => pipeline(views, by), events)
    const seen = this.#fragmentsSeen
    this.#fragmentsSeen = undefined
    return results.flatMap((event, index) => {
      if (event.length <= eventBytesMax) return index === 0 && seen !== undefined ? [] : [event]
      if (!splitsEvents) throw tooLarge(event.length)
      const position = positionOf(event)
      const fragments = splitEvent(event, fragment => tokenOf({ ...position, fragment }))
      return index === 0 && seen !== undefined ? fragments.slice(seen + 1) : fragments
    })
  }
}

/** The collection of an entry as it was at that time; undefined: a container of the other API. */
function collectionAt({ container, ending }: JournalEntry): EventCollection | undefined {
  if (ending !== undefined) {
    const { namespace, uuid, shardKey } = parseNote(ending as Uint8Array)
    return { namespace, uuid: uuid!, shardKey }
  }
  if (container === undefined || container.encoding !== 'bson') return undefined
  const { uuid, shardKey } = storedDefinition(container.definition)
  return { namespace: { database: container.database.id, collection: container.id }, uuid, shardKey }
}

/** Only the document's deadline was written anew: a TTL index has changed. */
function isSameDocument({ body, previous }: LoggedChange): boolean {
  if (body === undefined || previous === undefined) return false
  return Buffer.compare(body as Uint8Array, previous.body as Uint8Array) === 0
}

function remembered(seconds: number, now: JournalPlace): EpochSeconds {
  if (seconds <= now.ts - mongoChangeLogSeconds) throw historyLost()
  return toEpochSeconds(seconds)
}

function historyLost(
  reason = 'Resume of change stream was not possible, as the resume point may no longer be in the oplog.',
) {
  return new CommandError('ChangeStreamHistoryLost', reason)
}

function tooLarge(bytes: number): CommandError {
  const size = `BSONObj size: ${bytes} (0x${bytes.toString(16).toUpperCase()}) is invalid.`
  return new CommandError('BSONObjectTooLarge', `${size} Size must be between 0 and ${eventBytesMax}(16MB)`)
}

function tokenOfEvent(event: Uint8Array): BsonDocument {
  return BsonDocument.view(event).get('_id') as BsonDocument
}

function positionOf(event: Uint8Array): StreamPosition {
  const parsed = parseToken(tokenOfEvent(event))
  return (parsed as { position: StreamPosition }).position
}

/** Runs the rest of the pipeline. It must not change the resume tokens. */
async function piped(
  pipeline: (events: DocumentBatch) => Promise<readonly BsonDocument[]>,
  events: readonly Uint8Array[],
): Promise<Uint8Array[]> {
  const given = new Set(events.map(event => dataOf(event)))
  const results = (await pipeline(events.map(event => BsonDocument.view(event)))).map(documentBytes)
  for (const result of results) {
    const data = dataOf(result)
    if (data === undefined || !given.has(data)) {
      throw new CommandError(
        'ChangeStreamFatalError',
        'Encountered an event whose _id field, which contains the resume token, was modified by the ' +
          'pipeline. Modifying the _id field of an event makes it impossible to resume the stream from that ' +
          'point. Only transformations that retain the unmodified _id field are allowed.',
      )
    }
  }
  return results
}

function dataOf(event: Uint8Array): string | undefined {
  const id = BsonDocument.view(event).get('_id')
  const data = id?.type === bsonType.document ? id.get('_data') : undefined
  return data?.type === bsonType.string ? data.value : undefined
}
