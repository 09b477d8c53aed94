/** Items as the page shows them in lists: their times, their size, and the values of chosen columns. */

import { inSlices } from '../../base/slices.ts'
import type { Steps } from '../../base/steps.ts'
import { printExtendedJson } from '../../document/bson/extended-json.ts'
import { parseExtendedJson } from '../../document/bson/parse-extended-json.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { parseJsonInSteps } from '../../document/json-value.ts'
import type { ListedItem } from '../../engine/item-lives.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { StoredItem } from '../../store/item.ts'
import { FieldError } from '../http/error-map.ts'
import { RawJson } from '../http/json-text.ts'
import { printKey } from '../service/tokens.ts'

const valueCharsMax = 200
const columnsMax = 50
const columnCharsMax = 1000

/** Printing more than this only to cut it would take too long. */
const printedBytesMax = 16 * 1024

export interface Column {
  /** As the page wrote it. */
  readonly path: string
  readonly names: readonly string[]
}

export function parseColumns(text: string | null): readonly Column[] {
  if (text === null || text === '') return []
  const paths = text.split(',')
  if (text.length > columnCharsMax * 5 || paths.length > columnsMax) {
    throw new FieldError('columns', `There can be ${columnsMax} columns at most.`)
  }
  return paths.map(path => {
    if (!path.startsWith('/') || path.length > columnCharsMax) {
      throw new FieldError('columns', `A column is a path such as /name or /list/0, not '${path.slice(0, 50)}'.`)
    }
    const names = path
      .slice(1)
      .split('/')
      .map(name => name.replaceAll('%2C', ',').replaceAll('~1', '/').replaceAll('~0', '~'))
    return { path, names }
  })
}

export function showRows(
  container: ContainerRecord,
  items: readonly ListedItem[],
  columns: readonly Column[],
): Promise<object[]> {
  return inSlices(rowsInSteps(container, items, columns))
}

function* rowsInSteps(
  container: ContainerRecord,
  items: readonly ListedItem[],
  columns: readonly Column[],
): Steps<object[]> {
  const rows: object[] = []
  for (const item of items) {
    rows.push(yield* rowInSteps(container, item, columns))
    yield
  }
  return rows
}

export function* rowInSteps(container: ContainerRecord, item: ListedItem, columns: readonly Column[]): Steps<Row> {
  const { key, ttl, rule, ts, dies, isDead, body } = item
  const isDocument = container.encoding === 'bson'
  const { id, partitionKey, etag, values } = isDocument
    ? yield* documentParts(container, item, columns)
    : yield* itemParts(item, columns)
  return {
    key: printKey(key),
    id,
    partitionKey,
    ...{ ttl, rule, ts, deadline: dies, isDead },
    bytes: typeof body === 'string' ? Buffer.byteLength(body) : body.length,
    etag,
    values,
  }
}

/** `deadline`: when it dies. */
export interface Row extends RowParts, Pick<ListedItem, 'ttl' | 'rule' | 'ts' | 'isDead'> {
  readonly key: string
  readonly deadline: ListedItem['dies']
  readonly bytes: number
}

interface RowParts {
  readonly id: string
  readonly partitionKey: RawJson
  readonly etag: string
  readonly values: Readonly<Record<string, RawJson>>
}

function* itemParts({ key, body }: ListedItem, columns: readonly Column[]): Steps<RowParts> {
  const document = (yield* parseJsonInSteps(body as string)) as Record<string, unknown>
  const values: Record<string, RawJson> = {}
  for (const { path, names } of columns) {
    const value = names.reduce<unknown>(memberOf, document)
    if (value !== undefined) values[path] = bounded(JSON.stringify(value))
    yield
  }
  const etag = typeof document._etag === 'string' ? document._etag : ''
  return { id: key.id, partitionKey: new RawJson(key.pk), etag, values }
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
  return (value as Record<string, unknown>)[name]
}

function* documentParts(container: ContainerRecord, item: ListedItem, columns: readonly Column[]): Steps<RowParts> {
  const document = BsonDocument.view(item.body as Uint8Array)
  const values: Record<string, RawJson> = {}
  for (const { path, names } of columns) {
    const value = names.reduce<Value | undefined>(elementOf, document)
    if (value !== undefined) values[path] = printBounded(value)
    yield
  }
  const shard = shardValues(container, document).map(value => (value === undefined ? '{}' : printRelaxed(value)))
  return {
    id: documentId(document),
    partitionKey: new RawJson(`[${shard.join(',')}]`),
    etag: etagOfDocument(item),
    values,
  }
}

export function elementOf(value: Value | undefined, name: string): Value | undefined {
  if (value?.type === bsonType.document) return value.get(name)
  return value?.type === bsonType.array && /^\d{1,9}$/.test(name) ? value.at(Number(name)) : undefined
}

/** The values of the shard key; none if the collection has none. */
export function shardValues(container: ContainerRecord, document: BsonDocument): (Value | undefined)[] {
  const { shardKey } = container.definition as { readonly shardKey?: readonly string[] }
  return (shardKey ?? []).map(path => path.split('.').reduce<Value | undefined>(elementOf, document))
}

/** A string as it is, everything else as extended JSON. */
export function documentId(document: BsonDocument): string {
  const id = document.get('_id')
  if (id === undefined) return ''
  return id.type === bsonType.string && !looksLikeJson(id.value) ? id.value : printRelaxed(id)
}

/** A string that would be read as something else keeps its quotes. */
function looksLikeJson(text: string): boolean {
  try {
    parseExtendedJson(text)
    return true
  } catch {
    return false
  }
}

/** Documents have no etag of their own: the version of the item stands for it. */
export function etagOfDocument({ version }: Pick<StoredItem, 'version'>): string {
  return `"v${version}"`
}

function printRelaxed(value: Value): string {
  return printExtendedJson(value, { mode: 'relaxed' })
}

function printBounded(value: Value): RawJson {
  const bytes = sizeOf(value)
  if (bytes <= printedBytesMax) return bounded(printRelaxed(value))
  const start =
    value.type === bsonType.string ? value.value.slice(0, valueCharsMax) : value.type === bsonType.array ? '[…]' : '{…}'
  return new RawJson(JSON.stringify({ $cut: start, chars: bytes }))
}

function sizeOf(value: Value): number {
  if (value.type === bsonType.document || value.type === bsonType.array) {
    return value.raw === undefined ? 0 : value.raw.end - value.raw.start
  }
  if (value.type === bsonType.binary) return value.value.length
  return value.type === bsonType.string ? value.value.length : 0
}

function bounded(text: string): RawJson {
  if (text.length <= valueCharsMax) return new RawJson(text)
  return new RawJson(JSON.stringify({ $cut: text.slice(0, valueCharsMax), chars: text.length }))
}
