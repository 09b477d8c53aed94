/** Writes the tables of docs/compatibility.md from compat/results.json. Run `npm run docs`. */

import { clients } from '../compat/clients.ts'
import { type Results, readResults } from '../compat/results.ts'
import { type Api, type Outcome, stepsOf } from '../compat/steps.ts'
import { type GeneratedPage, write } from './generated-page.ts'

function row(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`
}

function cell(outcome: Outcome | undefined): string {
  if (outcome === undefined) return 'not run'
  if ('absent' in outcome) return '–'
  return outcome.ok ? 'works' : '**fails**'
}

/** Reasons contain what the service and the clients say; they must not end a cell or read as markup. */
function plain(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;').replaceAll('*', '\\*')
}

function tables(api: Api, results: Results): string[] {
  const steps = stepsOf(api)
  const languages = Object.keys(clients).filter(language => clients[language]!.api === api)
  const clientRows = languages.map(language => {
    const { name, package: client } = clients[language]!
    const result = results[language]
    return row([name, `\`${client}\``, result?.version ?? '', result?.ran ?? 'never'])
  })
  const features = Object.keys(steps).map(step =>
    row([steps[step]!, ...languages.map(language => cell(results[language]?.steps[step]))]),
  )
  return [
    '| client | package | version | run on |',
    '|---|---|---|---|',
    ...clientRows,
    '',
    row(['feature', ...languages.map(language => clients[language]!.name)]),
    `|${'---|'.repeat(languages.length + 1)}`,
    ...features,
  ]
}

function reasons(results: Results, pick: (outcome: Outcome) => string | undefined): string[] {
  return Object.entries(clients).flatMap(([language, { name, package: client, api }]) =>
    Object.entries(results[language]?.steps ?? {}).flatMap(([step, outcome]) => {
      const reason = pick(outcome)
      const shown = `${name}, \`${client}\``
      return reason === undefined ? [] : [row([shown, stepsOf(api)[step]!, plain(reason)])]
    }),
  )
}

function lines(): string[] {
  const results = readResults()
  const failures = reasons(results, outcome => ('ok' in outcome && !outcome.ok ? outcome.why : undefined))
  const absences = reasons(results, outcome => ('absent' in outcome ? outcome.absent : undefined))
  return [
    '## Azure Cosmos DB for NoSQL',
    '',
    ...tables('nosql', results),
    '',
    '## MongoDB',
    '',
    ...tables('mongo', results),
    '',
    '## What fails',
    '',
    ...(failures.length === 0 ? ['Nothing.'] : ['| client | feature | answer |', '|---|---|---|', ...failures]),
    '',
    '## What a client does not have',
    '',
    '| client | feature | why |',
    '|---|---|---|',
    ...absences,
  ]
}

export const compatibilityPage: GeneratedPage = {
  path: 'docs/compatibility.md',
  tool: 'tools/compatibility-page.ts',
  lines,
}

if (process.argv[1] === import.meta.filename) write(compatibilityPage)
