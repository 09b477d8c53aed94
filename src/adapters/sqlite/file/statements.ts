/** Statements that return rows as arrays: a point read costs a seventh less than with rows as objects. */

import type { DatabaseSync, SQLInputValue } from 'node:sqlite'

export interface ArrayStatement<Row extends readonly unknown[]> {
  get(...values: SQLInputValue[]): Row | undefined
  get(named: Record<string, SQLInputValue>): Row | undefined
  all(named: Record<string, SQLInputValue>): Row[]
  /** Call `return` to end it early. */
  iterate(named: Record<string, SQLInputValue>): Iterator<Row>
}

export function prepareArrays<Row extends readonly unknown[]>(db: DatabaseSync, sql: string): ArrayStatement<Row> {
  const statement = db.prepare(sql)
  statement.setReturnArrays(true)
  return statement as unknown as ArrayStatement<Row>
}
