/** Changes of a container as the feed shows them: writes, and where there is a log, deletes and deaths. */

import { scanBytesMax } from '../../base/limits.ts'
import type { Body } from '../../document/body.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import type { Engine } from '../../engine/engine.ts'
import { judgeLife } from '../../engine/item-lives.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey, ScannedItem } from '../../store/item.ts'
import type { Viewpoint } from '../../store/policy.ts'
import { type ChangePosition, type LogEntry, wholeRange } from '../../store/reading.ts'
import { RawJson } from '../http/json-text.ts'
import { printKey } from '../service/tokens.ts'
import { textOfItem } from './one-item.ts'
import { type Column, documentId, showRow } from './rows.ts'

export type FeedKind = 'latest' | 'all'

const textCharsMax = 20_000

export interface ChangePage {
  readonly changes: readonly object[]
  readonly position: ChangePosition
  readonly isEnd: boolean
  readonly isForgotten: boolean
}

export async function readFeed(
  engine: Engine,
  container: ContainerRecord,
  {
    mode,
    after,
    itemsMax,
    columns = [],
  }: {
    readonly mode: FeedKind
    readonly after: ChangePosition
    readonly itemsMax: number
    readonly columns?: readonly Column[]
  },
): Promise<ChangePage> {
  const range = { within: wholeRange, after }
  const page = { itemsMax, bytesMax: scanBytesMax }
  if (mode === 'latest') {
    const { items, position, isEnd, moment, policy } = await engine.readChanges(container, range, page)
    const changes = items.map(item => showWrite(container, item, { moment, policy }, columns))
    return { changes, position, isEnd, isForgotten: false }
  }
  const { entries, position, isEnd, isForgotten, moment, policy } = await engine.readLog(container, range, page)
  return {
    changes: entries.map(entry => showEntry(container, entry, { moment, policy }, columns)),
    position,
    isEnd,
    isForgotten,
  }
}

function showWrite(container: ContainerRecord, item: ScannedItem, at: Viewpoint, columns: readonly Column[]): object {
  const kind = item.version === item.sequence ? 'create' : 'replace'
  return { kind, lsn: item.version, ...showVersion(container, item, at, columns) }
}

/** An item in one of its versions. */
function showVersion(container: ContainerRecord, item: ScannedItem, at: Viewpoint, columns: readonly Column[]) {
  const row = showRow(container, { ...item, ...judgeLife(at, item) }, columns)
  return { ...row, ...cut(textOfItem(container, item).text) }
}

function cut(text: string): object {
  return text.length <= textCharsMax ? { text } : { text: text.slice(0, textCharsMax), isCut: true }
}

function showEntry(container: ContainerRecord, entry: LogEntry, at: Viewpoint, columns: readonly Column[]): object {
  const { kind, key, version, sequence, ts, body, previous } = entry
  const shared = { kind: kind === 'expire' ? 'died' : kind, lsn: version, ts }
  if (body !== undefined) {
    const item: ScannedItem = { key, sequence, version, ts, body, deadline: ownDeadlineIn(container, body, ts) }
    return { ...shared, ...showVersion(container, item, at, columns), ...previousText(container, previous?.body) }
  }
  return { ...shared, ...nameOf(container, key, previous?.body), ...previousText(container, previous?.body) }
}

/** The log keeps bodies and no deadlines: the `ttl` in the body says the same, unless dates decide. */
function ownDeadlineIn({ encoding }: ContainerRecord, body: Body, ts: number): number | null {
  if (encoding === 'bson') return null
  const { ttl } = JSON.parse(body as string) as { ttl?: unknown }
  if (typeof ttl !== 'number' || !Number.isInteger(ttl)) return null
  return ttl === -1 ? Number.MAX_SAFE_INTEGER : ts + ttl
}

function previousText(container: ContainerRecord, body: Body | undefined): object {
  if (body === undefined) return {}
  const { text } = textOfItem(container, { body })
  return { previousText: text.slice(0, textCharsMax), ...(text.length > textCharsMax && { isCut: true }) }
}

function nameOf({ encoding }: ContainerRecord, key: ItemKey, body: Body | undefined): object {
  if (encoding === 'json') return { key: printKey(key), id: key.id, partitionKey: new RawJson(key.pk) }
  const id = body === undefined ? key.id : documentId(BsonDocument.view(body as Uint8Array))
  return { key: printKey(key), id, partitionKey: [] }
}
