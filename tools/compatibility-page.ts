/** Writes the tables of docs/compatibility.md from compat/results.json. Run `npm run docs`. */

import { clients } from '../compat/clients.ts'
import { readResults } from '../compat/results.ts'
import { type Outcome, type Step, steps } from '../compat/steps.ts'
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

function lines(): string[] {
  const results = readResults()
  const languages = Object.keys(clients)
  const clientRows = languages.map(language => {
    const { name, package: client } = clients[language]!
    const result = results[language]
    return row([name, `\`${client}\``, result?.version ?? '', result?.ran ?? 'never'])
  })
  const features = (Object.keys(steps) as Step[]).map(step =>
    row([steps[step], ...languages.map(language => cell(results[language]?.steps[step]))]),
  )
  const reasons = (pick: (outcome: Outcome) => string | undefined) =>
    languages.flatMap(language =>
      Object.entries(results[language]?.steps ?? {}).flatMap(([step, outcome]) => {
        const reason = pick(outcome)
        return reason === undefined ? [] : [row([clients[language]!.name, steps[step as Step], plain(reason)])]
      }),
    )
  const failures = reasons(outcome => ('ok' in outcome && !outcome.ok ? outcome.why : undefined))
  const absences = reasons(outcome => ('absent' in outcome ? outcome.absent : undefined))
  return [
    '| language | client | version | run on |',
    '|---|---|---|---|',
    ...clientRows,
    '',
    row(['feature', ...languages.map(language => clients[language]!.name)]),
    `|${'---|'.repeat(languages.length + 1)}`,
    ...features,
    '',
    '## What fails',
    '',
    ...(failures.length === 0 ? ['Nothing.'] : ['| language | feature | answer |', '|---|---|---|', ...failures]),
    '',
    '## What a client does not have',
    '',
    '| language | feature | why |',
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
