/**
 * Prints the rows of a query as a table while they arrive. The first rows say which columns there are, and
 * how wide they are; the others are not held.
 */

import { timeText } from '../base/time-words.ts'
import { cellsIn, systemNames } from '../transfer/print-csv.ts'
import { counted } from './counted.ts'
import { printable, Table } from './table.ts'

/** More than a terminal shows at once. */
const firstRowsMax = 200
/** The most names that are listed of columns that only later rows have. */
const lateColumnsMax = 10

const unshown: ReadonlySet<string> = new Set(systemNames)
/** Columns whose values are seconds since 1970. A value that is far from now is something else. */
const times = new Set(['_ts', 'deadline', 'expiresAt'])
const isTime = (column: string, value: number) => times.has(column) && value >= 1e9 && value < 1e11

/** `batches`: rows as JSON texts. `now`: the time of the server; times are printed relative to it. */
export async function* queryTable(batches: AsyncIterable<readonly string[]>, now: number): AsyncGenerator<string> {
  let waiting: string[] = []
  const late = new Set<string>()
  let drawing: Drawing | undefined
  let rows = 0
  for await (const batch of batches) {
    rows += batch.length
    if (drawing !== undefined) yield drawing.textOf(batch, late)
    else {
      waiting = [...waiting, ...batch]
      if (waiting.length < firstRowsMax) continue
      drawing = new Drawing(waiting, now)
      yield drawing.head + drawing.textOf(waiting, late)
    }
  }
  if (drawing === undefined) {
    drawing = new Drawing(waiting, now)
    yield drawing.head + drawing.textOf(waiting, late)
  }
  yield `${counted(rows, 'row', 'rows')}\n`
  if (late.size === 0) return
  const names = [...late].slice(0, lateColumnsMax).join(', ')
  const others = late.size > lateColumnsMax ? ' and others' : ''
  const why = `because the first ${firstRowsMax} rows have none`
  yield `Not shown, ${why}: ${printable(names)}${others}. See --output jsonl.\n`
}

class Drawing {
  readonly head: string
  readonly #columns: ReadonlySet<string>
  readonly #table: Table
  readonly #now: number

  constructor(first: readonly string[], now: number) {
    const rows = first.slice(0, firstRowsMax).map(cellsIn)
    const names = rows.flatMap(row => [...row.keys()].filter(name => !unshown.has(name)))
    this.#columns = new Set(names)
    this.#now = now
    const cells = rows.map(row => this.#cellsOf(row))
    this.#table = new Table([...this.#columns], cells)
    this.head = this.#columns.size === 0 ? '' : this.#table.head
  }

  /** Adds to `late` the columns that the first rows did not have. */
  textOf(texts: readonly string[], late: Set<string>): string {
    if (this.#columns.size === 0) return ''
    const rows = texts.map(cellsIn)
    for (const row of rows) {
      for (const name of row.keys()) {
        const isLate = !unshown.has(name) && !this.#columns.has(name)
        if (isLate && late.size <= lateColumnsMax) late.add(name)
      }
    }
    return this.#table.textOf(rows.map(row => this.#cellsOf(row)))
  }

  #cellsOf(row: ReadonlyMap<string, string>): unknown[] {
    return Array.from(this.#columns, name => {
      const json = row.get(name)
      return json === undefined ? undefined : cellOf(json, name, this.#now)
    })
  }
}

/** The form of a value that people read. */
function cellOf(json: string, column: string, now: number): unknown {
  const value = plainValue(json)
  if (value instanceof Date) return timeText(value.getTime() / 1000, now)
  return typeof value === 'number' && isTime(column, value) ? timeText(value, now) : value
}

/** A number, text, date or null. Anything else, and a number that would be rounded, stays JSON. */
function plainValue(json: string): unknown {
  const value = JSON.parse(json) as unknown
  if (typeof value === 'number') return Number.isInteger(value) && !Number.isSafeInteger(value) ? json : value
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value)
  return (members.length === 1 ? unwrapped(...members[0]!) : undefined) ?? json
}

/** A value in extended JSON, as collections send it. Undefined: it is not one, or is shown as it is. */
function unwrapped(type: string, value: unknown): unknown {
  switch (type) {
    case '$numberInt':
    case '$numberLong':
    case '$numberDouble':
      return typeof value === 'string' && /^-?\d/.test(value) ? plainValue(value) : undefined
    case '$numberDecimal':
    case '$oid':
      return value
    case '$date': {
      const { $numberLong } = (value ?? {}) as { $numberLong?: string }
      const date = new Date($numberLong === undefined ? String(value) : Number($numberLong))
      return Number.isNaN(date.getTime()) ? undefined : date
    }
    default:
      return undefined
  }
}
