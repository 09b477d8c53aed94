/** The results of a workload, and how they are printed. */

/** One comparison. `value` is undefined if it could not be measured; then its bound is not checked. */
export interface Finding {
  readonly text: string
  readonly value: number | undefined
  /** How `value` is printed. */
  readonly unit?: string
  readonly digits?: number
  /** The lowest and highest value of single rounds. */
  readonly range?: readonly [number, number]
  readonly bound?: { readonly atLeast: number } | { readonly atMost: number }
}

export interface Report {
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  readonly findings: readonly Finding[]
  readonly notes: readonly string[]
  /** What is saved beside the table, for charts. */
  readonly data?: unknown
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  const middle = sorted.length >> 1
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2
}

/** Of no values: NaN. */
export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}

export function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length
}

/** The median, or undefined when any value is missing. */
export function medianOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter(value => value !== undefined)
  return known.length === values.length && known.length > 0 ? median(known) : undefined
}

export function quotient(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined || b === 0 ? undefined : a / b
}

export function difference(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : a - b
}

/** Empty if nothing was measured. */
export function figure(value: number | undefined, digits = 0): string {
  return value === undefined
    ? ''
    : value.toLocaleString('en-US', { minimumFractionDigits: digits, maximumFractionDigits: digits })
}

function verdict({ value, bound }: Finding): string {
  if (bound === undefined) return ''
  const [sign, limit] = 'atLeast' in bound ? ['>=', bound.atLeast] : ['<=', bound.atMost]
  if (value === undefined) return `${sign} ${limit}  not measured`
  const holds = 'atLeast' in bound ? value >= limit : value <= limit
  return `${sign} ${limit}  ${holds ? 'ok' : 'atLeast' in bound ? 'below' : 'above'}`
}

function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map(row => row[column]!.length)))
  const line = (cells: readonly string[]) =>
    cells.map((cell, i) => (i === 0 ? cell.padEnd(widths[i]!) : cell.padStart(widths[i]!))).join('  ')
  return [line(header), widths.map(width => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n')
}

/** Text, median, single rounds, bound. */
export function shownFinding(finding: Finding): string[] {
  const { text, value, unit = '', digits = 2, range } = finding
  const measured = value === undefined ? '' : `${figure(value, digits)}${unit}`
  const rounds = range === undefined ? '' : `${figure(range[0], digits)} to ${figure(range[1], digits)}`
  return [text, measured, rounds, verdict(finding)]
}

export function print(report: Report, command: string): void {
  const findings = report.findings.map(shownFinding)
  const parts = [
    `\n== ${report.title}`,
    table(report.columns, report.rows),
    table(['finding', 'median', 'single rounds', 'bound'], findings),
    [...report.notes, `repeat with: ${command}`].join('\n'),
  ]
  console.log(parts.join('\n\n'))
}
