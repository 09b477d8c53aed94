/** Lists of items: by the time they die, in key order or by creation, filtered, page by page; and counts. */

import { RequestError } from '../../base/error.ts'
import { scanBytesMax } from '../../base/limits.ts'
import { heldHere } from '../../base/memory-account.ts'
import { nextSlice } from '../../base/slices.ts'
import { parseExtendedDocument } from '../../document/bson/parse-extended-json.ts'
import {
  judgeLife,
  type LifeCursor,
  type LifeFilter,
  type LifeRange,
  type ListedItem,
  livesBytesMax,
} from '../../engine/item-lives.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { wholeRange } from '../../store/reading.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { FieldError } from '../http/error-map.ts'
import { choiceOf, optionalWhole, wholeParameter } from '../http/fields.ts'
import { dyingWithin, figuresOf } from '../items/figures.ts'
import { filterClause } from '../items/filter-clause.ts'
import { showItem } from '../items/one-item.ts'
import { parseColumns, showRows } from '../items/rows.ts'
import type { ExplorerService } from '../service/service.ts'
import type { ItemTest } from '../service/sides.ts'
import { readToken, signToken } from '../service/tokens.ts'
import { keyOfCall, requireContainer } from './containers.ts'

export const lifeFilters = ['all', 'minute', 'dead', 'never'] as const
const orders = ['soonest', 'latest', 'natural', 'newest', 'oldest'] as const

/** The most rows that one page examines before other requests get a turn. */
const examineMax = 5000
const pageItemsMax = 1000

/** With more rows, counts under a query are estimated from a part. */
const countedMax = 20_000

export async function listItems(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const { query } = call
  const filter = choiceOf(query.get('filter'), 'filter', lifeFilters, 'all')
  const asked = choiceOf(query.get('order'), 'order', orders, 'soonest')
  const order = filter === 'dead' && asked === 'natural' ? 'soonest' : asked
  const [from, to] = [optionalWhole(query, 'from'), optionalWhole(query, 'to')]
  if ((from !== undefined || to !== undefined) && order !== 'soonest') {
    throw new FieldError('order', '"from" and "to" need the order "soonest".')
  }
  const itemsMax = wholeParameter(query, 'limit', { min: 1, max: pageItemsMax, otherwise: 100 })
  const columns = parseColumns(query.get('columns'))
  const text = query.get('query') ?? ''
  const scope = JSON.stringify(['items', container.number, filter, order, from, to, text])
  const after = query.get('after')
  const cursor = after === null ? undefined : readToken(service.secret, scope, after)
  const page = await withItemTest<ListPage>(service, container, text, accepts => {
    const size = { itemsMax, examineMax, accepts }
    return order === 'natural'
      ? readNatural(service, container, filter, cursor as ItemKey | undefined, size)
      : readByLife(service, container, { filter, order, from, to }, (cursor ?? {}) as LifeCursor, size)
  })
  return {
    json: {
      items: await showRows(container, page.items, columns),
      ...(page.next !== undefined && { next: signToken(service.secret, scope, page.next) }),
      examined: page.examined,
      chargeRu: page.chargeRu,
    },
  }
}

interface ListPage {
  readonly items: readonly ListedItem[]
  readonly next?: unknown
  readonly examined: number
  readonly chargeRu: number
}

interface Size {
  readonly itemsMax: number
  readonly examineMax: number
  readonly accepts: ItemTest | undefined
}

async function readByLife(
  { engine }: ExplorerService,
  container: ContainerRecord,
  range: LifeRange,
  cursor: LifeCursor,
  size: Size,
): Promise<ListPage> {
  const page = await engine.listLives(container, range, cursor, size)
  // Their bytes are held until the items are shown.
  heldHere()?.add(page.bytes)
  return page
}

/** Living items in key order. */
async function readNatural(
  { engine }: ExplorerService,
  container: ContainerRecord,
  filter: LifeFilter,
  cursor: ItemKey | undefined,
  { itemsMax, examineMax, accepts }: Size,
) {
  const at = { moment: await engine.moment(), policy: container.policy }
  const items: ListedItem[] = []
  let after = cursor
  let examined = 0
  let chargeRu = 0
  let bytes = 0
  const isWanted = wantedLife(filter, at.moment)
  do {
    const page = await engine.readKeyOrder(
      container,
      { ...wholeRange, after },
      { itemsMax: Math.min(itemsMax, 500), bytesMax: scanBytesMax },
    )
    chargeRu += page.chargeRu
    after = page.last
    for (const item of page.items) {
      examined++
      const listed = { ...item, ...judgeLife(at, item) }
      if (!isWanted(listed) || accepts?.(item) === false) continue
      items.push(listed)
      bytes += item.body.length
      heldHere()?.add(item.body.length)
      if (items.length < itemsMax) continue
      if (item !== page.items.at(-1)) after = item.key
      break
    }
    await nextSlice()
  } while (after !== undefined && items.length < itemsMax && examined < examineMax && bytes < livesBytesMax)
  return { items, next: after, examined, chargeRu: Math.round(chargeRu * 100) / 100 }
}

function wantedLife(filter: LifeFilter, moment: number): (item: ListedItem) => boolean {
  if (filter === 'minute') return ({ dies }) => dies !== null && dies <= moment + 60
  if (filter === 'never') return ({ dies }) => dies === null
  return () => true
}

/** Without a filter, `use` gets undefined. */
export async function withItemTest<T>(
  service: ExplorerService,
  container: ContainerRecord,
  text: string,
  use: (accepts: ItemTest | undefined) => Promise<T>,
): Promise<T> {
  if (text.trim() === '') return use(undefined)
  if (container.encoding === 'json') {
    const { clause, added } = filterClause(text)
    try {
      return await service.nosql.withFilter(container, clause, use)
    } catch (error) {
      throw aboutFilter(error, clauseStart + added)
    }
  }
  try {
    return await use((await service.mongo()).filter(parseExtendedDocument(text)))
  } catch (error) {
    throw aboutFilter(error, 0)
  }
}

const clauseStart = 'SELECT VALUE 1 FROM c '.length

/**
 * The error of a filter, with its place in what the user wrote. `start` is the length of our text before it.
 */
function aboutFilter(error: unknown, start: number): unknown {
  if (!(error instanceof RequestError)) return error
  const { line, column } = error as unknown as { line?: number; column?: number }
  if (typeof line !== 'number' || typeof column !== 'number' || line === 0) return error
  const moved = line === 1 ? Math.max(1, column - start) : column
  return new FieldError('query', error.message, { line, column: moved })
}

export async function countItems(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const text = call.query.get('query') ?? ''
  if (text.trim() === '') return { json: await countAll(service, container) }
  const { value, isAbout } = await service.counts.get(
    `matching ${container.number} ${text}`,
    () => countMatching(service, container, text),
    // A match costs a hundred times what a step in an index costs.
    ({ examined }) => examined * 100,
  )
  const { examined: _, ...counts } = value
  return { json: { ...counts, isAbout: isAbout || counts.isAbout } }
}

async function countAll(service: ExplorerService, container: ContainerRecord) {
  const { living, dead, isAbout } = await figuresOf(service, container)
  const minute = await dyingWithin(service, container, 60)
  const never = await endlessOf(service, container, living)
  return {
    all: living,
    minute: minute.value,
    dead,
    never: never.value,
    isAbout: isAbout || minute.isAbout || never.isAbout,
  }
}

/**
 * Living items that never die. Only items with a lifespan of their own are counted, because those that
 * inherit theirs are usually many more.
 */
async function endlessOf({ engine, counts }: ExplorerService, container: ContainerRecord, living: number) {
  const { defaultTtl } = container.policy
  if (defaultTtl === null) return { value: living, isAbout: false }
  const kind = defaultTtl === -1 ? 'ending' : 'endless'
  const { value, isAbout } = await counts.get(
    `${kind} ${container.number}`,
    () => engine.reports.ownLives(container, kind),
    count => count,
  )
  return { value: kind === 'ending' ? Math.max(0, living - value) : value, isAbout }
}

export function sharesOf({ engine, counts }: ExplorerService, container: ContainerRecord) {
  return counts.get(
    `shares ${container.number} ${container.policy.defaultTtl}`,
    () => engine.reports.shares(container),
    ({ none, never, own }) => none + never + own,
  )
}

async function countMatching(service: ExplorerService, container: ContainerRecord, text: string) {
  const counts = { all: 0, minute: 0, dead: 0, never: 0 }
  let examined = 0
  const moment = await service.engine.moment()
  await withItemTest(service, container, text, async accepts => {
    for (const filter of ['all', 'dead'] as const) {
      const end = examined + countedMax
      let cursor: LifeCursor | undefined = {}
      while (cursor !== undefined && examined < end) {
        const page = await service.engine.listLives(container, { filter, order: 'soonest' }, cursor, {
          itemsMax: 1000,
          examineMax: 1000,
          accepts,
        })
        examined += page.examined
        cursor = page.next
        for (const { isDead, dies } of page.items) {
          if (isDead) counts.dead++
          else counts.all++
          if (!isDead && dies === null) counts.never++
          if (!isDead && dies !== null && dies <= moment + 60) counts.minute++
        }
      }
    }
  })
  const { living } = await figuresOf(service, container)
  if (living <= countedMax) return { ...counts, isAbout: false, examined }
  // The items that die soonest were looked at first, so those that die within a minute are all counted. The
  // other numbers are scaled up to all living items.
  const share = living / countedMax
  return {
    ...counts,
    all: Math.round(counts.all * share),
    never: Math.round(counts.never * share),
    isAbout: true,
    examined,
  }
}

export async function readItem(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const shown = await showItem(service, container, await keyOfCall(service, container, call))
  if (shown === undefined) throw new RequestError('not_found', 'There is no such item: it was deleted, or has died.')
  return { json: shown }
}

export async function explainItem(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const key = await keyOfCall(service, container, call)
  return { json: await service.engine.reports.explain(container, key) }
}
