/**
 * Counts the items that would die at once by another default ttl, or by another TTL index of a collection.
 */

import { scanBytesMax } from '../../base/limits.ts'
import { nextSlice } from '../../base/slices.ts'
import { parseExtendedDocument } from '../../document/bson/parse-extended-json.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, date } from '../../document/bson/value.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { wholeRange } from '../../store/reading.ts'
import { ttlSecondsMax } from '../../ttl/lifespan.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { ConflictError, FieldError } from '../http/error-map.ts'
import { defaultTtlField, wholeField } from '../http/fields.ts'
import type { ExplorerService } from '../service/service.ts'
import { requireContainer, requireMongo } from './containers.ts'

type Body = Readonly<Record<string, unknown>>

/** Documents that are examined before other requests get a turn. */
const previewPage = { itemsMax: 500, bytesMax: scanBytesMax }

/** Changes nothing. */
export async function previewTtl(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const body = await call.body()
  const { index } = body
  if (index !== undefined) {
    requireMongo(container)
    if (typeof index !== 'object' || index === null) throw new FieldError('index', '"index" must be an object.')
    return { json: await endedNow(service, container, index as Body, call.gone) }
  }
  const defaultTtl = defaultTtlField(body)
  if (defaultTtl === undefined) throw new FieldError('defaultTtl', 'Name the default: seconds, -1 or null.')
  const { value, isAbout } = await service.counts.get(
    `preview ${container.number} ${container.policy.defaultTtl} ${defaultTtl}`,
    () => service.engine.reports.preview(container, defaultTtl),
    ({ now, within1h, within24h }) => now + within1h + within24h,
  )
  return { json: { ...value, isAbout } }
}

/** Throws if more items would die at once than the user was told. */
export async function refuseMoreDeaths(body: Body, count: () => Promise<{ readonly now: number }>): Promise<void> {
  if (body.expectNow === undefined) return
  const expected = wholeField(body, 'expectNow', 0, Number.MAX_SAFE_INTEGER)
  const preview = await count()
  if (preview.now > expected + Math.max(10, expected / 100)) {
    throw new ConflictError(`${preview.now} would die now, not ${expected}. Nothing was changed.`, { preview })
  }
}

/**
 * How many living documents a TTL index on a date ends at once: a new one by its key, a present one by its
 * name. All documents are looked at, as they are when the index is made.
 */
export async function endedNow(
  { engine, mongo }: ExplorerService,
  container: ContainerRecord,
  asked: Body,
  gone: AbortSignal,
): Promise<{ readonly now: number }> {
  const seconds = wholeField(asked, 'expireAfterSeconds', 0, ttlSecondsMax)
  const { describe, filter } = await mongo()
  const accepts = filter(hasEnded(indexOf(describe(container).indexes, asked), (await engine.moment()) - seconds))
  let now = 0
  let after: ItemKey | undefined
  do {
    const page = await engine.uncharged.scan(container, { ...wholeRange, after }, previewPage)
    now += page.items.filter(accepts).length
    after = page.last
    await nextSlice()
    gone.throwIfAborted()
  } while (after !== undefined)
  return { now }
}

function indexOf(present: readonly BsonDocument[], asked: Body): BsonDocument {
  const found = present.find(index => {
    const name = index.get('name')
    return name?.type === bsonType.string && name.value === asked.name
  })
  if (found !== undefined) return found
  const [field, ...others] = Object.keys(indexKey(asked))
  if (others.length > 0) throw new FieldError('key', 'An index that ends documents has one field.')
  if (field === '_ts') throw new FieldError('key', 'For the index on _ts name the "defaultTtl".')
  return parseExtendedDocument(JSON.stringify(asked))
}

/** The filter for documents that the index covers and whose date is at or before a moment. */
function hasEnded(index: BsonDocument, moment: number): BsonDocument {
  const key = index.get('key')
  const covered = index.get('partialFilterExpression')
  const fields = key?.type === bsonType.document ? key.fields : []
  const atOrBefore = BsonDocument.of([['$lte', date(BigInt(moment) * 1000n)]])
  const parts = fields.map(([field]) => BsonDocument.of([[field, atOrBefore]]))
  if (covered?.type === bsonType.document) parts.push(covered)
  return BsonDocument.of([['$and', BsonArray.of(parts)]])
}

export function indexKey({ key }: Body): Body {
  if (typeof key !== 'object' || key === null || Array.isArray(key) || Object.keys(key).length === 0) {
    throw new FieldError('key', '"key" names the fields of the index: {"closedAt": 1}.')
  }
  return key as Body
}

export function isLifespanKey(key: Body): boolean {
  return Object.keys(key).length === 1 && Object.hasOwn(key, '_ts')
}
