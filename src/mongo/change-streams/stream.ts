/**
 * Change streams: changes of documents as events, from now on or from a resume token.
 *
 * A stream reads the change logs of the collections it watches (`log-reader.ts`). They hold every version,
 * delete and death with its images. A stream over a collection ends when the collection is dropped or
 * renamed, a stream over a database when that is dropped.
 */

import { machine } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import type { Pipeline } from '../../mql/pipeline/pipeline.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import type { ChangePosition, LogEntry } from '../../store/reading.ts'
import { CommandError } from '../answers/command-error.ts'
import { type Collection, collectionsOf, findCollection, keepLog } from '../collections/collections.ts'
import { mark, type WatchScope } from '../collections/watched-collections.ts'
import type { CommandCall } from '../service/command.ts'
import type { BatchRequest, CursorBatch, CursorSource } from '../service/cursors.ts'
import { catalogEvent, changeEvent } from './event.ts'
import { readLogs } from './log-reader.ts'
import type { StreamOptions } from './options.ts'
import { tokenOf } from './token.ts'

/** How long a change stream sleeps. Purges and other gateways change data without waking it. */
const mongoChangePollMs = 100

export interface StreamRequest {
  readonly scope: WatchScope
  readonly options: StreamOptions
  /** Compiles the rest of the pipeline. It is compiled again for each batch of events. */
  readonly pipeline: () => Pipeline
}

export async function openChangeStream(call: CommandCall, request: StreamRequest): Promise<CursorSource> {
  const stream = new ChangeStream(call, request)
  await stream.open()
  return stream
}

class ChangeStream implements CursorSource {
  readonly #call: CommandCall
  readonly #request: StreamRequest
  #positions = new Map<number, ChangePosition>()
  /** The collections it has seen: their numbers and their names at that time. */
  readonly #seen = new Map<number, Namespace>()
  #isOver = false

  constructor(call: CommandCall, request: StreamRequest) {
    this.#call = call
    this.#request = request
  }

  get #engine() {
    return this.#call.service.engine
  }

  async open(): Promise<void> {
    const { scope, options } = this.#request
    await mark(this.#engine, scope)
    const collections = await this.#collections()
    const started: Collection[] = []
    for (const collection of collections) started.push(await this.#begin(collection))
    if (options.start.kind === 'after') this.#positions = new Map(options.start.place.positions)
    for (const { container } of started) {
      this.#seen.set(container.number, namespaceOf(container))
      if (options.start.kind !== 'now') continue
      this.#positions.set(container.number, await this.#engine.logNow(container))
    }
    if (scope.kind === 'collection' && options.start.kind === 'after') this.#checkSame(started)
  }

  /** Refuses a token whose collection was dropped and created again. */
  #checkSame(collections: readonly Collection[]): void {
    const { start } = this.#request.options
    const [collection] = collections
    if (start.kind !== 'after' || collection === undefined || start.place.isInvalidate) return
    const { positions } = start.place
    if (positions.size > 0 && !positions.has(collection.container.number)) {
      throw new CommandError('InvalidResumeToken', 'The resume token belongs to another collection.')
    }
  }

  async #begin(collection: Collection): Promise<Collection> {
    if (collection.container.logSeconds !== null) return collection
    const { start } = this.#request.options
    if (start.kind === 'since' && start.seconds < (await this.#engine.moment())) {
      throw new CommandError('ChangeStreamHistoryLost', 'Nobody watched at that time, so nothing is remembered of it.')
    }
    return keepLog(this.#engine, collection.container)
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
        const databases = await this.#engine.catalog.databases()
        return (await Promise.all(databases.map(database => collectionsOf(this.#engine, database)))).flat()
      }
    }
  }

  async next({ documentsMax, by, waitMs }: BatchRequest): Promise<CursorBatch> {
    const endMs = machine.monotonicMs() + waitMs
    for (;;) {
      const documents = await this.#poll(documentsMax, by)
      const leftMs = endMs - machine.monotonicMs()
      if (documents.length > 0 || this.#isOver || leftMs <= 0) {
        return { documents, isEnd: this.#isOver, resumeToken: this.#token() }
      }
      await this.#call.service.changes.wait(Math.min(leftMs, mongoChangePollMs))
      by.operation.check()
    }
  }

  #token(): BsonDocument {
    return tokenOf({ positions: this.#positions, isInvalidate: this.#isOver })
  }

  async #poll(documentsMax: number, by: BatchRequest['by']): Promise<Uint8Array[]> {
    const collections = (await this.#collections()).filter(({ container }) => container.logSeconds !== null)
    const events: Uint8Array[] = []
    const present = new Set(collections.map(({ container }) => container.number))
    const hasGone = [...this.#seen.keys()].some(number => !present.has(number))
    if (hasGone) events.push(...(await this.#catalogEvents(collections)))
    for (const { container } of collections) this.#seen.set(container.number, namespaceOf(container))
    if (!this.#isOver) {
      const { found, positions, chargeRu } = await readLogs(this.#engine, collections, this.#positions)
      by.chargeRu += chargeRu
      for (const { collection, entry } of found) {
        if (events.length >= documentsMax) return this.#piped(events)
        this.#positions.set(collection.container.number, entry.position)
        if (this.#isShown(entry)) events.push(await this.#event(collection, entry))
      }
      this.#positions = new Map(positions)
    }
    return events.length === 0 ? [] : this.#piped(events)
  }

  #isShown({ kind, ts }: LogEntry): boolean {
    const { start } = this.#request.options
    if (start.kind === 'since' && ts < start.seconds) return false
    return kind !== 'expire' || this.#call.service.settings.areExpiryEventsOn
  }

  #event(collection: Collection, entry: LogEntry): Promise<Uint8Array> {
    const { container } = collection
    return changeEvent(entry, this.#token(), {
      collection,
      options: this.#request.options,
      isReplacement: this.#call.service.replacements.has(container.number, entry.version),
      lookUp: async ({ key }) => {
        const { item } = await this.#engine.uncharged.read(container, key)
        return item?.body as Uint8Array | undefined
      },
    })
  }

  /** Events for collections that were dropped or renamed. */
  async #catalogEvents(collections: readonly Collection[]): Promise<Uint8Array[]> {
    const { scope } = this.#request
    const seconds = await this.#engine.moment()
    const events: Uint8Array[] = []
    for (const [number, namespace] of [...this.#seen]) {
      if (collections.some(({ container }) => container.number === number)) continue
      this.#seen.delete(number)
      const to = await this.#renamed(number, namespace)
      this.#positions.delete(number)
      const token = this.#token()
      events.push(
        catalogEvent(to === undefined ? 'drop' : 'rename', {
          token,
          seconds,
          namespace,
          ...(to !== undefined && { to }),
        }),
      )
    }
    const isDatabaseGone =
      scope.kind === 'database' && (await this.#engine.catalog.findDatabase(scope.database)) === undefined
    if (isDatabaseGone) {
      const namespace = { database: scope.database, collection: '' }
      events.push(catalogEvent('dropDatabase', { token: this.#token(), seconds, namespace }))
    }
    if (scope.kind === 'collection' || isDatabaseGone) {
      this.#isOver = true
      events.push(catalogEvent('invalidate', { token: this.#token(), seconds }))
    }
    return events
  }

  async #renamed(number: number, { database }: Namespace): Promise<Namespace | undefined> {
    const record = await this.#engine.catalog.findDatabase(database)
    const containers = record === undefined ? [] : await this.#engine.catalog.containers(record)
    const found = containers.find(container => container.number === number)
    return found === undefined ? undefined : namespaceOf(found)
  }

  /** Runs the rest of the pipeline. It must not change the resume tokens. */
  async #piped(events: readonly Uint8Array[]): Promise<Uint8Array[]> {
    const results: Uint8Array[] = []
    const input = (async function* () {
      yield events
    })()
    const noCollections = {
      find: refuse,
      replace: refuse,
      merge: refuse,
    }
    for await (const batch of this.#request.pipeline().run(input, noCollections)) {
      for (const result of batch) {
        const id = BsonDocument.view(result).get('_id')
        if (id?.type !== bsonType.document || id.get('_data') === undefined) {
          throw new CommandError(
            'ChangeStreamFatalError',
            'Encountered an event whose _id field, which contains the resume token, was modified by the ' +
              'pipeline. Modifying the _id field of an event makes it impossible to resume the stream from that ' +
              'point.',
          )
        }
        results.push(result)
      }
    }
    return results
  }
}

function refuse(): never {
  throw new CommandError('IllegalOperation', 'Other collections are not available in a change stream.')
}

function namespaceOf({ database, id }: { readonly database: { readonly id: string }; readonly id: string }): Namespace {
  return { database: database.id, collection: id }
}
