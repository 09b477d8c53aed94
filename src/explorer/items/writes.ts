/**
 * Writes to one item. They go through the edge of the item's API, so that its checks, its triggers of
 * expiry and its texts hold here as well. A write says which version it replaces.
 */

import { randomBytes } from 'node:crypto'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { inSlices } from '../../base/slices.ts'
import { printExtendedJson } from '../../document/bson/extended-json.ts'
import { parseDocumentInSteps } from '../../document/bson/parse-extended-json.ts'
import { bsonType } from '../../document/bson/types.ts'
import {
  BsonArray,
  BsonDocument,
  bool,
  type Field,
  int32,
  objectId,
  string,
  type Value,
} from '../../document/bson/value.ts'
import { encodeInSteps } from '../../document/bson/writer.ts'
import { layOutInSteps } from '../../document/json-layout.ts'
import { parseJsonInSteps } from '../../document/json-value.ts'
import { extractPartitionKey, parsePartitionKeyPath, undefinedComponent } from '../../document/partition-key.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ListedItem } from '../../engine/item-lives.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { ChangedMeanwhile, ConflictError, FieldError } from '../http/error-map.ts'
import type { ExplorerService } from '../service/service.ts'
import { showItem, textInSteps } from './one-item.ts'
import { etagOfDocument, shardValues } from './rows.ts'

/** `*`: any version. */
export type Expected = string

/** Creates an item from the text of an editor; returns its key. */
export async function createItem(service: ExplorerService, container: ContainerRecord, text: string): Promise<ItemKey> {
  if (container.encoding === 'bson') return insertDocument(service, container, text)
  const { pk, document } = await readItemText(container, text)
  const { body } = await service.nosql.ask({
    method: 'POST',
    path: pathOf(container),
    headers: { 'x-ms-documentdb-partitionkey': printComponents(pk) },
    body: text,
  })
  const { id } = JSON.parse(body) as { id: string }
  return itemKey(container, extractOf(container, document), id)
}

export async function replaceItem(
  service: ExplorerService,
  container: ContainerRecord,
  key: ItemKey,
  { text, expected }: { readonly text: string; readonly expected: Expected },
): Promise<ItemKey> {
  if (container.encoding === 'bson') return replaceDocument(service, container, key, { text, expected })
  const { document } = await readItemText(container, text)
  const { body } = await guarded(service, container, key, () =>
    service.nosql.ask({
      method: 'PUT',
      path: pathOf(container, key.id),
      headers: headersOf(key, expected),
      body: text,
    }),
  )
  const { id } = JSON.parse(body) as { id: string }
  return itemKey(container, extractOf(container, document), id)
}

export async function deleteItem(
  service: ExplorerService,
  container: ContainerRecord,
  key: ItemKey,
  expected: Expected,
): Promise<void> {
  if (container.encoding === 'bson') {
    const found = await expectDocument(service, container, key, expected)
    const statement = BsonDocument.of([
      ['q', exactly(container, found)],
      ['limit', int32(1)],
    ])
    await runOnOne(service, container, key, 'delete', 'deletes', statement)
    return
  }
  await guarded(service, container, key, () =>
    service.nosql.ask({ method: 'DELETE', path: pathOf(container, key.id), headers: headersOf(key, expected) }),
  )
}

/** Sets or removes `ttl` and touches nothing else. */
export async function setTtl(
  service: ExplorerService,
  container: ContainerRecord,
  key: ItemKey,
  { ttl, expected }: { readonly ttl: number | undefined; readonly expected: Expected },
): Promise<void> {
  if (container.encoding === 'bson') {
    const found = await expectDocument(service, container, key, expected)
    const fields: Field[] = [['ttl', int32(ttl ?? 0)]]
    const change = BsonDocument.of([[ttl === undefined ? '$unset' : '$set', BsonDocument.of(fields)]])
    await runOnOne(service, container, key, 'update', 'updates', updateStatement(container, found, change))
    return
  }
  const operation = ttl === undefined ? { op: 'remove', path: '/ttl' } : { op: 'set', path: '/ttl', value: ttl }
  await guarded(service, container, key, () =>
    service.nosql.ask({
      method: 'PATCH',
      path: pathOf(container, key.id),
      headers: headersOf(key, expected),
      body: JSON.stringify({ operations: [operation] }),
    }),
  )
}

/** Deletes without asking for a version; false if there is no such living item. */
export async function removeItem(
  service: ExplorerService,
  container: ContainerRecord,
  item: Pick<ListedItem, 'key' | 'body'>,
): Promise<boolean> {
  if (container.encoding === 'bson') {
    const document = BsonDocument.view(item.body as Uint8Array)
    const statement = BsonDocument.of([
      ['q', named(container, document)],
      ['limit', int32(1)],
    ])
    return (await runOne(service, container, 'delete', 'deletes', statement)) > 0
  }
  try {
    await service.nosql.ask({
      method: 'DELETE',
      path: pathOf(container, item.key.id),
      headers: headersOf(item.key, '*'),
    })
    return true
  } catch (error) {
    if (error instanceof RequestError && error.kind === 'not_found') return false
    throw error
  }
}

function pathOf({ database, id }: ContainerRecord, ...rest: readonly string[]): string[] {
  return ['dbs', database.id, 'colls', id, 'docs', ...rest]
}

function headersOf(key: ItemKey, expected: Expected): Readonly<Record<string, string>> {
  return {
    'x-ms-documentdb-partitionkey': key.pk,
    ...(expected !== '*' && { 'if-match': expected }),
  }
}

/** If a precondition fails, the error carries the item as it is now. */
async function guarded<T>(
  service: ExplorerService,
  container: ContainerRecord,
  key: ItemKey,
  write: () => Promise<T>,
): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof RequestError) || error.kind !== 'precondition_failed') throw error
    throw new ChangedMeanwhile(await livingItem(service, container, key))
  }
}

async function livingItem(service: ExplorerService, container: ContainerRecord, key: ItemKey): Promise<object | null> {
  const shown = (await showItem(service, container, key)) as { readonly isDead: boolean } | undefined
  return shown === undefined || shown.isDead ? null : shown
}

/** Reads the text before the edge does, for the line and column of an error and for the partition key. */
async function readItemText(container: ContainerRecord, text: string) {
  await inSlices(layOutInSteps(text))
  const document = await inSlices(parseJsonInSteps(text))
  if (typeof document !== 'object' || document === null || Array.isArray(document)) {
    throw new FieldError('text', 'An item is one JSON object: { … }', { line: 1, column: 1 })
  }
  return {
    document: document as Record<string, unknown>,
    pk: extractOf(container, document as Record<string, unknown>),
  }
}

function extractOf({ partitionKey }: ContainerRecord, document: Record<string, unknown>) {
  return extractPartitionKey(document, partitionKey.paths.map(parsePartitionKeyPath))
}

function printComponents(components: ReturnType<typeof extractPartitionKey>): string {
  // A header is ASCII: everything else is escaped.
  return JSON.stringify(components.map(each => (each === undefinedComponent ? {} : each))).replace(
    /[^\x20-\x7e]/g,
    unit => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

async function insertDocument(service: ExplorerService, container: ContainerRecord, text: string): Promise<ItemKey> {
  const given = await inSlices(parseDocumentInSteps(text))
  // Makes the `_id` here, as drivers do. The server could make it too, but then the page would not know it.
  const document = await encoded(
    given.get('_id') === undefined ? BsonDocument.of([['_id', objectId(newObjectId())], ...given.fields]) : given,
  )
  const mongo = await service.mongo()
  await mongo.run(
    container.database.id,
    BsonDocument.of([
      ['insert', string(container.id)],
      ['documents', BsonArray.of([document])],
    ]),
  )
  return keyOfDocument(service, container, document)
}

/** As bytes, which are copied into a command. */
async function encoded(document: BsonDocument): Promise<BsonDocument> {
  return BsonDocument.view(await inSlices(encodeInSteps(document)))
}

function newObjectId(): Uint8Array {
  const bytes = randomBytes(12)
  bytes.writeUInt32BE(Math.floor(machine.epochMs() / 1000))
  return bytes
}

async function replaceDocument(
  service: ExplorerService,
  container: ContainerRecord,
  key: ItemKey,
  { text, expected }: { readonly text: string; readonly expected: Expected },
): Promise<ItemKey> {
  const document = await encoded(await inSlices(parseDocumentInSteps(text)))
  const found = await expectDocument(service, container, key, expected)
  const { isExact } = await inSlices(textInSteps(container, { body: found.raw!.bytes }))
  if (!isExact) {
    throw new ConflictError(
      'The document holds what text cannot say exactly, so a saved text would change it. Nothing was written.',
    )
  }
  await runOnOne(service, container, key, 'update', 'updates', updateStatement(container, found, document))
  return keyOfDocument(service, container, document.get('_id') === undefined ? found : document)
}

async function keyOfDocument(
  service: ExplorerService,
  container: ContainerRecord,
  document: BsonDocument,
): Promise<ItemKey> {
  const shard = shardValues(container, document).map(value => value ?? { type: bsonType.undefined })
  const mongo = await service.mongo()
  return mongo.keyOf(
    container,
    printExtendedJson(document.get('_id')!, { mode: 'canonical' }),
    shard.length === 0 ? null : printExtendedJson(BsonArray.of(shard as Value[]), { mode: 'canonical' }),
  )
}

/** The document, if it lives and has the version that the page saw. */
async function expectDocument(
  { engine, ...service }: ExplorerService,
  container: ContainerRecord,
  key: ItemKey,
  expected: Expected,
): Promise<BsonDocument> {
  const item = await engine.lookAt(container, key)
  if (item === undefined || item.isDead) {
    if (expected !== '*') throw new ChangedMeanwhile(null)
    throw new RequestError('not_found', 'There is no such document: it was deleted, or has died.')
  }
  if (expected !== '*' && expected !== etagOfDocument(item)) {
    throw new ChangedMeanwhile(await livingItem({ engine, ...service }, container, key))
  }
  return BsonDocument.view(item.body as Uint8Array)
}

/** A filter for this document in this state: between the look and the write it may change. */
function exactly(container: ContainerRecord, document: BsonDocument): BsonDocument {
  const literal = BsonDocument.of([['$literal', document]])
  const isSame = BsonDocument.of([['$eq', BsonArray.of([string('$$ROOT'), literal])]])
  return BsonDocument.of([...named(container, document).fields, ['$expr', isSame]])
}

function named({ definition }: ContainerRecord, document: BsonDocument): BsonDocument {
  const { shardKey = [] } = definition as { readonly shardKey?: readonly string[] }
  const values = shardValues({ definition } as ContainerRecord, document)
  const shard = shardKey.flatMap((path, at): Field[] => (values[at] === undefined ? [] : [[path, values[at]]]))
  return BsonDocument.of([['_id', document.get('_id')!], ...shard.filter(([path]) => path !== '_id')])
}

function updateStatement(container: ContainerRecord, found: BsonDocument, change: BsonDocument): BsonDocument {
  return BsonDocument.of([
    ['q', exactly(container, found)],
    ['u', change],
    ['multi', bool(false)],
  ])
}

async function runOnOne(
  service: ExplorerService,
  container: ContainerRecord,
  key: ItemKey,
  ...[command, list, statement]: readonly [command: string, list: string, statement: BsonDocument]
): Promise<void> {
  const found = await runOne(service, container, command, list, statement)
  if (found === 0) throw new ChangedMeanwhile(await livingItem(service, container, key))
}

/** Runs a command with one statement. Returns how many documents it found. */
async function runOne(
  service: ExplorerService,
  container: ContainerRecord,
  command: string,
  list: string,
  statement: BsonDocument,
): Promise<number> {
  const mongo = await service.mongo()
  const { answer } = await mongo.run(
    container.database.id,
    BsonDocument.of([
      [command, string(container.id)],
      [list, BsonArray.of([statement])],
    ]),
  )
  const n = answer.get('n')
  return n?.type === bsonType.int32 ? n.value : 0
}
