/**
 * Prints rows as CSV, so that `split-csv.ts` reads the same values again.
 *
 * A row that is a whole item is printed without the properties that Mayfly adds, except `_ts`: they say
 * nothing to people, and an import does not store them. A row that has only some of them keeps these.
 *
 * Text that could be taken for something else ("7", "true", an empty text) is printed as a JSON text, with
 * quotes. Numbers that JavaScript prints otherwise (1.0, or more digits than a double has) come back as
 * text.
 */

import { JsonReader } from '../document/json-reader.ts'

/** Properties that Mayfly adds to each item. They say nothing to people. */
export const systemNames = ['_rid', '_self', '_etag', '_attachments'] as const

/** The column for rows that are not objects. */
const valueColumn = 'value'

/** Adds the columns of a row that are new. */
export function addColumns(row: string, columns: Set<string>): void {
  for (const name of tableCellsIn(row).keys()) columns.add(name)
}

export function csvHeader(columns: readonly string[]): string {
  return `${columns.map(name => cellOf(name)).join(',')}\r\n`
}

export function csvRecord(row: string, columns: readonly string[]): string {
  const values = tableCellsIn(row)
  return `${columns.map(name => valueCell(values.get(name), name)).join(',')}\r\n`
}

function tableCellsIn(row: string): Map<string, string> {
  const values = cellsIn(row)
  if (systemNames.every(name => values.has(name))) for (const name of systemNames) values.delete(name)
  return values
}

/** The members of a row by name, as they are written. Of repeated names the last counts. */
export function cellsIn(row: string): Map<string, string> {
  const reader = new JsonReader(row)
  if (reader.next !== '{') return new Map([[valueColumn, row.trim()]])
  const values = new Map<string, string>()
  reader.object(name => {
    values.set(name, reader.skip())
  })
  return values
}

function valueCell(json: string | undefined, column: string): string {
  if (json === undefined) return ''
  if (!json.startsWith('"')) return cellOf(json)
  const text = JSON.parse(json) as string
  return cellOf(isPlain(text, column) ? text : json)
}

/** Whether a cell with this text is read as the text, not as another value. */
function isPlain(text: string, column: string): boolean {
  if (text === '' || /^[{["\s]/.test(text) || /\s$/.test(text)) return false
  if (column === 'id' || column === '_id') return true
  return !['true', 'false', 'null'].includes(text) && !(/^-?\d/.test(text) && String(Number(text)) === text)
}

function cellOf(text: string): string {
  return /[",;\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}
