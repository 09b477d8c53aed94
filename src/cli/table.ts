/** Prints rows for people, in columns. */

import { styleText } from 'node:util'
import { durationText } from '../base/time-words.ts'

const cellCharsMax = 40

/** Columns as wide as the first rows need. Numbers are aligned to the right. */
export class Table {
  readonly #columns: readonly string[]
  readonly #widths: readonly number[]
  readonly #isNumeric: readonly boolean[]

  constructor(columns: readonly string[], rows: readonly (readonly unknown[])[]) {
    this.#columns = columns
    this.#widths = columns.map((name, at) => Math.max(name.length, ...rows.map(row => cellText(row[at]).length)))
    this.#isNumeric = columns.map((_, at) => rows.length > 0 && rows.every(row => typeof row[at] === 'number'))
  }

  get head(): string {
    const names = this.#line(this.#columns)
    return `${process.stdout.isTTY ? styleText('bold', names) : names}\n`
  }

  textOf(rows: readonly (readonly unknown[])[]): string {
    return rows.map(row => `${this.#line(row.map(cellText))}\n`).join('')
  }

  #line(cells: readonly string[]): string {
    const padded = cells.map((cell, at) => {
      const width = this.#widths[at]!
      return this.#isNumeric[at] ? cell.padStart(width) : cell.padEnd(width)
    })
    return padded.join('  ').trimEnd()
  }
}

export function tableText(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const table = new Table(columns, rows)
  return table.head + table.textOf(rows)
}

function cellText(value: unknown): string {
  if (value === undefined || value === null) return value === null ? 'null' : ''
  const text = printable(typeof value === 'string' ? value : JSON.stringify(value))
  return text.length > cellCharsMax ? `${text.slice(0, cellCharsMax - 1)}…` : text
}

/** Removes control characters, which would change the terminal. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{C}]/gu, ' ')
}

export function ttlText(defaultTtl: number | null): string {
  if (defaultTtl === null) return 'off'
  return defaultTtl === -1 ? 'on, no default' : durationText(defaultTtl)
}
