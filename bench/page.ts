/** Writes docs/benchmarks.md and its charts from the saved results. */

import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type GeneratedPage, root, write } from '../tools/generated-page.ts'
import { type Chart, svgOf } from './chart.ts'
import { chartsOfGrowth } from './growth/charts.ts'
import { readResults, type SavedResult } from './results.ts'
import type { Stop } from './workloads/growth.ts'
import type { SoakSample } from './workloads/soak.ts'

const chartFolder = 'docs/benchmarks'

/** The others follow by their names. */
const first = ['growth', 'create-latency', 'soak', 'peers']

/** The charts of each workload, by the name of their file. */
const chartsOf: Readonly<Record<string, (data: unknown) => Readonly<Record<string, Chart>>>> = {
  growth: data => chartsOfGrowth(data as readonly Stop[]),
  soak: data => chartsOfSoak(data as readonly SoakSample[]),
}

function chartsOfSoak(samples: readonly SoakSample[]): Readonly<Record<string, Chart>> {
  const series = (name: string, part: 'residentMiB' | 'anonymousMiB') => ({
    name,
    points: samples.map(sample => [sample.minutes, sample[part]] as const),
  })
  return {
    'soak-memory': {
      ...{ title: 'Memory of the server', xLabel: 'minutes', yLabel: 'MiB' },
      series: [series('resident', 'residentMiB'), series('of it anonymous', 'anonymousMiB')],
    },
  }
}

function table(columns: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.map(cell => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(columns), `|${columns.map((_, at) => (at === 0 ? '---|' : '---:|')).join('')}`, ...rows.map(line)]
}

/** Prose ends before column 110. */
function wrapped(text: string, indent = ''): string[] {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const last = lines.at(-1)
    if (last === undefined) lines.push(word)
    else if (last.length + word.length < 108) lines[lines.length - 1] = `${last} ${word}`
    else lines.push(indent + word)
  }
  return lines
}

function sectionOf(name: string, result: SavedResult): string[] {
  const { title, columns, rows, findings, notes } = result
  const charts = Object.entries(chartsOf[name]?.(result.data) ?? {})
  const [heading = '', about = ''] = title.split(/: (.*)/s)
  const capital = (text: string) => text.slice(0, 1).toUpperCase() + text.slice(1)
  return [
    `## ${capital(heading)}`,
    '',
    ...wrapped(`${capital(about)}.`),
    '',
    ...wrapped(
      `\`${result.command}\`: ${result.date}, Node ${result.node.slice(1)}, ${result.machine}; load average ` +
        `${result.loadAverage} at the start.`,
    ),
    '',
    ...charts.flatMap(([file, chart]) => [`![${chart.title}](benchmarks/${file}.svg)`, '']),
    ...table(columns, rows),
    '',
    ...(findings.length === 0 ? [] : [...table(['finding', 'median', 'single rounds', 'bound'], findings), '']),
    ...notes.flatMap(note => wrapped(`- ${note}`, '  ')),
    '',
  ]
}

export const benchmarksPage: GeneratedPage = {
  path: 'docs/benchmarks.md',
  tool: 'bench/page.ts',
  lines: () => {
    const results = readResults()
    const names = [...new Set([...first.filter(name => results.has(name)), ...results.keys()])]
    return names.flatMap(name => sectionOf(name, results.get(name)!)).slice(0, -1)
  },
}

export function writePage(): void {
  mkdirSync(join(root, chartFolder), { recursive: true })
  for (const [name, { data }] of readResults()) {
    for (const [file, chart] of Object.entries(chartsOf[name]?.(data) ?? {})) {
      writeFileSync(join(root, chartFolder, `${file}.svg`), svgOf(chart))
    }
  }
  write(benchmarksPage)
}

if (process.argv[1] === import.meta.filename) writePage()
