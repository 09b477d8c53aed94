/** Changes of a container as the feed shows them: writes, and where there is a log, deletes and deaths. */

import { type EpochSeconds, toEpochSeconds } from '../../base/clock.ts'
import { scanBytesMax } from '../../base/limits.ts'
import { leaseHere } from '../../base/memory-account.ts'
import { inSlices, nextSlice } from '../../base/slices.ts'
import type { Steps } from '../../base/steps.ts'
import type { Body } from '../../document/body.ts'
import { printInSteps } from '../../document/bson/extended-json.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { parseJsonInSteps } from '../../document/json-value.ts'
import type { Engine } from '../../engine/engine.ts'
import { judgeLife, livesBytesMax } from '../../engine/item-lives.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey, ScannedItem } from '../../store/item.ts'
import type { Viewpoint } from '../../store/policy.ts'
import { type ChangePosition, type LogEntry, wholeRange } from '../../store/reading.ts'
import { RawJson } from '../http/json-text.ts'
import { printKey } from '../service/tokens.ts'
import { textInSteps } from './one-item.ts'
import { type Column, documentId, rowInSteps } from './rows.ts'

export type FeedKind = 'latest' | 'all'

const textCharsMax = 20_000

export interface ChangePage {
  readonly changes: readonly object[]
  readonly position: ChangePosition
  readonly isEnd: boolean
  readonly isForgotten: boolean
}

interface RawPage extends Omit<ChangePage, 'changes'> {
  readonly raw: readonly RawChange[]
  readonly at: Viewpoint
}

type RawChange = ScannedItem | LogEntry

async function readRaw(
  engine: Engine,
  container: ContainerRecord,
  mode: FeedKind,
  after: ChangePosition,
  itemsMax: number,
): Promise<RawPage> {
  const range = { within: wholeRange, after }
  const page = { itemsMax, bytesMax: scanBytesMax }
  if (mode === 'latest') {
    const { items, position, isEnd, moment, policy } = await engine.readChanges(container, range, page)
    return { raw: items, position, isEnd, isForgotten: false, at: { moment, policy } }
  }
  const { entries, position, isEnd, isForgotten, moment, policy } = await engine.readLog(container, range, page)
  return { raw: entries, position, isEnd, isForgotten, at: { moment, policy } }
}

interface Shown {
  /** With columns, texts are left out: the changes are for a list of items. */
  readonly columns?: readonly Column[] | undefined
}

/** One page behind a position, the oldest first. */
export async function readFeed(
  engine: Engine,
  container: ContainerRecord,
  { mode, after, itemsMax, columns }: Shown & FeedRange & { readonly after: ChangePosition },
): Promise<ChangePage> {
  const { raw, at, ...page } = await readRaw(engine, container, mode, after, itemsMax)
  return { ...page, changes: await inSlices(changesInSteps(container, raw, at, columns)) }
}

interface FeedRange {
  readonly mode: FeedKind
  readonly itemsMax: number
}

/** A feed cannot be read backwards. So its end is searched in these spans before now, the shortest first. */
const lookBackS = [1, 10, 60, 600, 3600, 24 * 3600]

/** The most changes that are read to find the newest ones: more would cost a busy server too much. */
const readMax = 2000

export interface NewestChanges {
  readonly changes: readonly object[]
  /** Behind all changes. */
  readonly position: ChangePosition
  readonly isForgotten: boolean
  /** There are more changes from `since` on: older ones, or too many to read. */
  readonly isCut: boolean
}

/** The newest changes from a moment on, the oldest first. The cost does not grow with the container. */
export async function readNewest(
  engine: Engine,
  container: ContainerRecord,
  { mode, since, itemsMax }: FeedRange & { readonly since: EpochSeconds },
): Promise<NewestChanges> {
  const now = await engine.moment()
  const end = mode === 'latest' ? await engine.changesNow(container) : await engine.logNow(container)
  let newest: NewestChanges = { changes: [], position: end, isForgotten: false, isCut: false }
  for (const seconds of [...lookBackS.filter(each => each < now - since), now - since]) {
    const from = toEpochSeconds(Math.max(0, now - seconds))
    using found = await readTail(engine, container, { mode, itemsMax, from })
    // Entries have left the log. Only the end of the log is a position that is certainly in it.
    if (found.isForgotten) return { ...newest, isForgotten: true }
    if (!found.isEnd) return { ...newest, isCut: true }
    const { at, raw, isCut } = found
    const changes = await inSlices(changesInSteps(container, raw, at, undefined))
    newest = { changes, position: found.position, isForgotten: false, isCut }
    if (isCut || raw.length === itemsMax) break
  }
  return newest
}

/** The newest changes of a moment and later. They are counted as held until this is disposed of. */
interface Tail extends RawPage, Disposable {
  /** There were more: too many, or too large to hold them all. */
  readonly isCut: boolean
}

/** `isEnd` is false if there are too many to read. */
async function readTail(
  engine: Engine,
  container: ContainerRecord,
  { mode, itemsMax, from }: FeedRange & { readonly from: EpochSeconds },
): Promise<Tail> {
  let after = mode === 'latest' ? await engine.changesSince(container, from) : await engine.logSince(container, from)
  const raw: RawChange[] = []
  const lease = leaseHere('work')
  let bytes = 0
  let isCut = false
  try {
    for (let read = 0; ; ) {
      const page = await readRaw(engine, container, mode, after, 500)
      read += page.raw.length
      for (const change of page.raw) {
        if (change.ts < from) continue
        raw.push(change)
        bytes += bytesOf(change)
        while (raw.length > itemsMax || (bytes > livesBytesMax && raw.length > 1)) {
          bytes -= bytesOf(raw.shift()!)
          isCut = true
        }
      }
      lease?.set(bytes)
      if (page.isEnd || page.isForgotten || read >= readMax) {
        return { ...page, raw, isCut, [Symbol.dispose]: () => lease?.[Symbol.dispose]() }
      }
      after = page.position
      await nextSlice()
    }
  } catch (error) {
    lease?.[Symbol.dispose]()
    throw error
  }
}

function bytesOf(change: RawChange): number {
  const previous = 'kind' in change ? change.previous?.body.length : 0
  return (change.body?.length ?? 0) + (previous ?? 0)
}

function* changesInSteps(
  container: ContainerRecord,
  raw: readonly RawChange[],
  at: Viewpoint,
  columns: readonly Column[] | undefined,
): Steps<object[]> {
  const shown: object[] = []
  for (const change of raw) {
    const show = 'kind' in change ? showEntry : showWrite
    shown.push(yield* show(container, change as ScannedItem & LogEntry, at, columns))
    yield
  }
  return shown
}

function* showWrite(
  container: ContainerRecord,
  item: ScannedItem,
  at: Viewpoint,
  columns: Shown['columns'],
): Steps<object> {
  const kind = item.version === item.sequence ? 'create' : 'replace'
  return { kind, lsn: item.version, ...(yield* showVersion(container, item, at, columns)) }
}

/** An item in one of its versions. */
function* showVersion(
  container: ContainerRecord,
  item: ScannedItem,
  at: Viewpoint,
  columns: Shown['columns'],
): Steps<object> {
  const row = yield* rowInSteps(container, { ...item, ...judgeLife(at, item) }, columns ?? [])
  return columns === undefined ? { ...row, ...cut(yield* beginningOf(container, item.body)) } : row
}

/** The text of an item. It may be cut off, but not within the part that may be shown. */
function* beginningOf({ encoding }: ContainerRecord, body: Body): Steps<string> {
  if (encoding === 'json') return (yield* textInSteps({ encoding }, { body })).text
  return yield* printInSteps(BsonDocument.view(body as Uint8Array), {
    mode: 'editable',
    indent: 2,
    charsMax: textCharsMax,
  })
}

function cut(text: string): object {
  return text.length <= textCharsMax ? { text } : { text: text.slice(0, textCharsMax), isCut: true }
}

function* showEntry(
  container: ContainerRecord,
  entry: LogEntry,
  at: Viewpoint,
  columns: Shown['columns'],
): Steps<object> {
  const { kind, key, version, sequence, ts, body, previous } = entry
  const shared = { kind: kind === 'expire' ? 'died' : kind, lsn: version, ts }
  const before = columns === undefined ? yield* previousText(container, previous?.body) : {}
  if (body !== undefined) {
    const item: ScannedItem = { key, sequence, version, ts, body, deadline: yield* ownDeadlineIn(container, body, ts) }
    return { ...shared, ...(yield* showVersion(container, item, at, columns)), ...before }
  }
  return { ...shared, ...nameOf(container, key, previous?.body), ...before }
}

/** The log keeps bodies and no deadlines: the `ttl` in the body says the same, unless dates decide. */
function* ownDeadlineIn({ encoding }: ContainerRecord, body: Body, ts: number): Steps<number | null> {
  if (encoding === 'bson') return null
  const { ttl } = (yield* parseJsonInSteps(body as string)) as { ttl?: unknown }
  if (typeof ttl !== 'number' || !Number.isInteger(ttl)) return null
  return ttl === -1 ? Number.MAX_SAFE_INTEGER : ts + ttl
}

function* previousText(container: ContainerRecord, body: Body | undefined): Steps<object> {
  if (body === undefined) return {}
  const text = yield* beginningOf(container, body)
  return { previousText: text.slice(0, textCharsMax), ...(text.length > textCharsMax && { isCut: true }) }
}

function nameOf({ encoding }: ContainerRecord, key: ItemKey, body: Body | undefined): object {
  if (encoding === 'json') return { key: printKey(key), id: key.id, partitionKey: new RawJson(key.pk) }
  const id = body === undefined ? key.id : documentId(BsonDocument.view(body as Uint8Array))
  return { key: printKey(key), id, partitionKey: [] }
}
