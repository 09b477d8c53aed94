/**
 * Lists rows, alive or dead, in an order of time.
 *
 * Each bucket has an index of its own, so the first rows of every bucket are read and the first of all are
 * chosen. There is no index by creation, so all rows of the container are looked at. That also holds on a
 * cluster, whose shards cannot be asked bucket by bucket.
 */

import type { ContainerRecord } from '../../../store/catalog.ts'
import { type ListedRows, type PageSize, placeOf, type RowRange } from '../../../store/reading.ts'
import type { Connections, SqlStatement } from '../connection/connections.ts'
import { type ItemRow, isCut, itemColumns, type PageRow, pageSql, scannedItem } from './items.ts'

type Direction = 'forward' | 'backward'

const orders = {
  inherited: { only: 'i.deadline IS NULL', column: 'i.ts' },
  own: { only: 'i.deadline IS NOT NULL', column: 'i.deadline' },
  creation: { only: 'true', column: 'i.sequence' },
} as const

function listSql(by: RowRange['by'], direction: Direction, isCluster: boolean): string {
  const { only, column } = orders[by]
  const isForward = direction === 'forward'
  const order = isForward ? '' : ' DESC'
  const where =
    `${only} AND (${column}, i.sequence) ${isForward ? '>' : '<'} ($2::bigint, $3::bigint) ` +
    `AND ${column} ${isForward ? '<=' : '>'} $4::bigint`
  const sorted = `ORDER BY ${column}${order}, i.sequence${order} LIMIT $5`
  const columns = `${column} AS place_at, ${itemColumns}`
  const rows =
    isCluster || by === 'creation'
      ? `SELECT ${columns} FROM mayfly.items i WHERE i.container = $1 AND ${where} ${sorted}`
      : `SELECT f.* FROM mayfly.counters n CROSS JOIN LATERAL (
           SELECT ${columns} FROM mayfly.items i
           WHERE i.container = n.container AND i.bucket = n.bucket AND ${where} ${sorted}) f
         WHERE n.container = $1 ORDER BY f.place_at${order}, f.sequence${order} LIMIT $5`
  return pageSql(rows, `r.place_at${order}, r.sequence${order}`, '$6')
}

function statementsFor(isCluster: boolean) {
  const both = (by: RowRange['by']): Readonly<Record<Direction, SqlStatement>> => ({
    forward: { name: `list_${by}`, text: listSql(by, 'forward', isCluster) },
    backward: { name: `list_${by}_backward`, text: listSql(by, 'backward', isCluster) },
  })
  return { inherited: both('inherited'), own: both('own'), creation: both('creation') }
}

export class RowLists {
  readonly #connections: Connections
  readonly #statements: ReturnType<typeof statementsFor>

  constructor(connections: Connections, isCluster: boolean) {
    this.#connections = connections
    this.#statements = statementsFor(isCluster)
  }

  async read(container: ContainerRecord, range: RowRange, page: PageSize): Promise<ListedRows> {
    const { by, after, upTo, isReverse, behind } = range
    const from = behind ?? { at: isReverse ? upTo : after, sequence: Number.MAX_SAFE_INTEGER }
    const statement = this.#statements[by][isReverse ? 'backward' : 'forward']
    const values = [container.number, from.at, from.sequence, isReverse ? after : upTo, page.itemsMax, page.bytesMax]
    const found = await this.#connections.readLong<PageRow<ItemRow>>(statement, values)
    const rows = found.map(scannedItem)
    return { rows, last: isCut(found, page) ? placeOf(rows.at(-1)!, by) : undefined }
  }
}
