/** Writes the table of docs/query.md from the functions and their test cases. Run `npm run docs`. */

import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { functionFamilies } from '../src/sql/functions/table.ts'
import { type GeneratedPage, root, write } from './generated-page.ts'

const cases = globSync('test/languages/sql/*.json', { cwd: root }).flatMap(
  path => JSON.parse(readFileSync(join(root, path), 'utf8')) as { query?: string; value?: string }[],
)

function casesOf(names: readonly string[]): number {
  const call = new RegExp(`\\b(${names.join('|')})\\s*\\(`, 'i')
  return cases.filter(({ query, value }) => call.test(query ?? value ?? '')).length
}

function lines(): string[] {
  const rows = Object.entries(functionFamilies).map(([family, functions]) => {
    const names = Object.keys(functions).map(key => key.split(' '))
    const counts = names.map(casesOf)
    const shown = names.map(([name]) => `\`${name}\``).join(' ')
    return `| ${family} | ${shown} | ${counts.reduce((sum, count) => sum + count, 0)} |`
  })
  return ['| family | functions | cases |', '|---|---|---|', ...rows]
}

export const queryPage: GeneratedPage = { path: 'docs/query.md', tool: 'tools/query-page.ts', lines }

if (process.argv[1] === import.meta.filename) write(queryPage)
