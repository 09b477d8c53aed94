/** Statements that return rows as arrays: a point read costs a seventh less than with rows as objects. */

import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'

export interface ArrayStatement<Row extends readonly unknown[]> {
  get(...values: SQLInputValue[]): Row | undefined
  get(named: Record<string, SQLInputValue>): Row | undefined
  all(named: Record<string, SQLInputValue>): Row[]
  /** Call `return` to end it early. */
  iterate(named: Record<string, SQLInputValue>): Iterator<Row>
}

export function prepareArrays<Row extends readonly unknown[]>(db: DatabaseSync, sql: string): ArrayStatement<Row> {
  const statement = db.prepare(sql)
  if (!givesArrays(statement)) return viaObjects(statement)
  statement.setReturnArrays(true)
  return statement as unknown as ArrayStatement<Row>
}

/** Node has it since 22.16. */
function givesArrays(statement: Partial<StatementSync>): statement is StatementSync {
  return statement.setReturnArrays !== undefined
}

function viaObjects<Row extends readonly unknown[]>(statement: StatementSync): ArrayStatement<Row> {
  const cells = (row: object) => Object.values(row) as unknown as Row
  return {
    get: (...values: never[]) => {
      const row = statement.get(...values)
      return row && cells(row)
    },
    all: named => statement.all(named).map(cells),
    *iterate(named) {
      for (const row of statement.iterate(named)) yield cells(row)
    },
  }
}
