/** Finds the documents of an update or delete, and changes them. */

import { type EpochSeconds, epochMsWithin } from '../../base/clock.ts'
import type { RequestError } from '../../base/error.ts'
import { MiB, pageBytesMax } from '../../base/limits.ts'
import type { Matcher } from '../../mql/filter/match.ts'
import type { Sort } from '../../mql/paths/sort-order.ts'
import type { UpdateContext } from '../../mql/update/modifier.ts'
import type { CompiledUpdate } from '../../mql/update/update.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Collection } from '../collections/collections.ts'
import { documentSource, keyOfDocument, matchingDocuments } from '../find/documents.ts'
import { timestampOf } from '../service/cluster-time.ts'
import type { CommandCall } from '../service/command.ts'
import type { StatementResult } from '../session/retry-record.ts'
import { type DocumentChange, type DocumentWrite, type LifeStamps, writeDocuments } from './document-writes.ts'
import { mongoRacesMax } from './write-command.ts'

/**
 * Writes in one transaction of the store: 250 inserts take about 4 ms, and 1,000 in one commit are no faster
 * than in four.
 */
export const mongoWriteStepsMax = 250

/** Changes in one transaction. A change costs three times an insert: 250 take about 5 ms. */
const changeStepsMax = 250

/** Bytes in one transaction, unless a single document is larger: others wait while they are written. */
export const mongoWriteBytesMax = 2 * MiB

/** A change to the documents that match a filter. */
export interface Mutation {
  readonly matcher: Matcher
  /** Which document comes first, if only one is changed. */
  readonly sort?: Sort | undefined
  /** Computes the change from the present document, which matches the filter. */
  change(document: Uint8Array, moment: EpochSeconds): DocumentChange | undefined
}

/** One document, before and after. */
export interface Mutated {
  readonly before: Uint8Array
  /** The same bytes if nothing changed. Undefined if the document was deleted. */
  readonly after: Uint8Array | undefined
  readonly moment: EpochSeconds
  /** The life of the document before. Unknown in a transaction. */
  readonly life: LifeStamps | undefined
}

/** Makes the results for the retry record, from the changed document or from none. */
export type Remember = (mutated: Mutated | undefined) => ReadonlyMap<number, StatementResult>

/** Changes the first document that matches the filter. */
export async function mutateOne(
  call: CommandCall,
  collection: Collection,
  mutation: Mutation,
  remember: Remember | undefined,
): Promise<Mutated | undefined> {
  for (let attempt = 0; attempt < mongoRacesMax; attempt++) {
    const candidate = await firstMatching(call, collection, mutation)
    if (candidate === undefined) return undefined
    const write = new Change(collection, mutation, candidate)
    const results = remember === undefined ? undefined : () => remember(write.mutated)
    const refusal = await writeDocuments(call, collection, [write], results)
    if (refusal !== undefined) throw refusal.error
    // Another client changed it first and it no longer matches. Another document may.
    if (write.mutated !== undefined) return write.mutated
  }
  throw new CommandError('WriteConflict', 'The documents that match change faster than they can be found.')
}

/** Changes all documents that match the filter. Documents before an error stay changed, as in MongoDB. */
export async function mutateAll(
  call: CommandCall,
  collection: Collection,
  mutation: Mutation,
): Promise<{ readonly matched: number; readonly changed: number; readonly error: RequestError | undefined }> {
  const keys = new Set<string>()
  let matched = 0
  let changed = 0
  for await (const found of matchingDocuments(call, collection, mutation.matcher)) {
    for (const group of inGroups(found)) {
      call.operation.check()
      // An update may move a document ahead of the scan. It must not be changed twice.
      const writes = group
        .map(document => new Change(collection, mutation, document))
        .filter(({ key }) => !keys.has(`${key.pk} ${key.id}`))
      for (const { key } of writes) keys.add(`${key.pk} ${key.id}`)
      const refusal = await writeDocuments(call, collection, writes)
      const done = refusal === undefined ? writes : writes.slice(0, refusal.index)
      if (refusal !== undefined) await writeDocuments(call, collection, done)
      for (const { mutated } of done) {
        if (mutated === undefined) continue
        matched++
        if (mutated.after !== mutated.before) changed++
      }
      if (refusal !== undefined) return { matched, changed, error: refusal.error }
    }
  }
  return { matched, changed, error: undefined }
}

function* inGroups(documents: readonly Uint8Array[]): Generator<Uint8Array[]> {
  let group: Uint8Array[] = []
  let bytes = 0
  for (const document of documents) {
    group.push(document)
    bytes += document.length
    if (group.length < changeStepsMax && bytes < mongoWriteBytesMax) continue
    yield group
    group = []
    bytes = 0
  }
  if (group.length > 0) yield group
}

class Change implements DocumentWrite {
  readonly key
  readonly bytes
  readonly #mutation: Mutation
  mutated: Mutated | undefined

  constructor(collection: Collection, mutation: Mutation, candidate: Uint8Array) {
    this.key = keyOfDocument(collection, candidate)
    this.bytes = candidate.length
    this.#mutation = mutation
  }

  decide = (
    found: Uint8Array | undefined,
    moment: EpochSeconds,
    life: LifeStamps | undefined,
  ): DocumentChange | undefined => {
    this.mutated = undefined
    if (found === undefined || !this.#mutation.matcher.matches(found)) return undefined
    const change = this.#mutation.change(found, moment)
    const after = change === undefined ? found : change.kind === 'put' ? change.document : undefined
    this.mutated = { before: found, after, moment, life }
    return change
  }
}

async function firstMatching(
  call: CommandCall,
  collection: Collection,
  { matcher, sort }: Mutation,
): Promise<Uint8Array | undefined> {
  const source = documentSource(call, collection, { matcher, sort, limit: 1 })
  for (;;) {
    const { documents, isEnd } = await source.next({ documentsMax: 1, bytesMax: pageBytesMax, by: call, waitMs: 0 })
    if (documents.length > 0 || isEnd) return documents[0]
  }
}

/** The time that `$currentDate` sets: the moment of the write, with the milliseconds of the clock. */
export function updateTime({ service }: Pick<CommandCall, 'service'>, moment: EpochSeconds): UpdateContext['now'] {
  return { epochMs: epochMsWithin(moment, service.clock), timestamp: timestampOf(moment, 0).value }
}

/** An update as a mutation. It is refused if the document would leave its partition. */
export function updateMutation(
  call: CommandCall,
  collection: Collection,
  matcher: Matcher,
  update: CompiledUpdate,
): Mutation {
  return {
    matcher,
    change: (document, moment) => {
      const position = update.needsPosition ? matcher.position(document) : undefined
      const { document: after, isChanged } = update.apply(document, {
        position,
        isInsert: false,
        now: updateTime(call, moment),
      })
      if (!isChanged) return undefined
      if (collection.shardKey !== undefined) refuseMove(collection, document, after)
      return { kind: 'put', document: after, isReplacement: update.kind === 'replacement' }
    },
  }
}

function refuseMove(collection: Collection, before: Uint8Array, after: Uint8Array): void {
  if (keyOfDocument(collection, before).pk !== keyOfDocument(collection, after).pk) {
    throw new CommandError('ImmutableField', 'The value of the shard key of a document cannot be changed.')
  }
}

export const deletion: DocumentChange = { kind: 'delete' }
