/** Prints rows for people: columns, and times as ISO. */

import { styleText } from 'node:util'
import { durationText } from './progress.ts'

const cellCharsMax = 40

/** Numbers stand on the right. */
export function tableText(columns: readonly string[], rows: readonly (readonly unknown[])[]): string {
  const cells = rows.map(row => row.map(cellText))
  const widths = columns.map((name, at) => Math.max(name.length, ...cells.map(row => row[at]!.length)))
  const isNumeric = columns.map((_, at) => rows.length > 0 && rows.every(row => typeof row[at] === 'number'))
  const line = (row: readonly string[]) =>
    row
      .map((cell, at) => (isNumeric[at] ? cell.padStart(widths[at]!) : cell.padEnd(widths[at]!)))
      .join('  ')
      .trimEnd()
  const head = line(columns)
  return `${[process.stdout.isTTY ? styleText('bold', head) : head, ...cells.map(line)].join('\n')}\n`
}

function cellText(value: unknown): string {
  if (value === undefined || value === null) return value === null ? 'null' : ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  const printable = text.replaceAll(/[\p{C}]/gu, ' ')
  return printable.length > cellCharsMax ? `${printable.slice(0, cellCharsMax - 1)}…` : printable
}

export function isoTime(second: number): string {
  const date = new Date(second * 1000)
  return Number.isNaN(date.getTime()) ? String(second) : date.toISOString().replace('.000Z', 'Z')
}

export function ttlText(defaultTtl: number | null): string {
  if (defaultTtl === null) return 'off'
  return defaultTtl === -1 ? 'on, no default' : durationText(defaultTtl)
}
