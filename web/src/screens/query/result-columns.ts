/** The columns of a result's table: from its rows, in the order in which their names come. */

export interface ResultColumn {
  name: string
  isNumber: boolean
}

const columnsMax = 40
/** Noise in a table; the JSON view has them. */
const systemNames = new Set(['_rid', '_self', '_etag', '_attachments'])
/** Of rows that are no objects. */
export const valueColumn = 'value'

function isRecord(row: unknown): row is Record<string, unknown> {
  return typeof row === 'object' && row !== null && !Array.isArray(row)
}

export function resultColumns(rows: readonly unknown[]): ResultColumn[] {
  const kinds = new Map<string, { numbers: number; others: number }>()
  const see = (name: string, value: unknown) => {
    const kind = kinds.get(name) ?? { numbers: 0, others: 0 }
    if (typeof value === 'number') kind.numbers++
    else if (value !== null) kind.others++
    kinds.set(name, kind)
  }
  for (const row of rows) {
    if (!isRecord(row)) see(valueColumn, row)
    else for (const [name, value] of Object.entries(row)) if (!systemNames.has(name)) see(name, value)
  }
  return [...kinds]
    .slice(0, columnsMax)
    .map(([name, { numbers, others }]) => ({ name, isNumber: numbers > 0 && others === 0 }))
}

/** What a row has in a column; undefined if nothing. */
export function valueIn(row: unknown, name: string): unknown {
  return isRecord(row) ? row[name] : name === valueColumn ? row : undefined
}
