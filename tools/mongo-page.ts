/**
 * Writes the tables of docs/mongo.md from the commands, the operators and their test cases. Run `npm run
 * docs`.
 */

import { commandFamilies } from '../src/mongo/commands.ts'
import { accumulators } from '../src/mql/accumulators/statement.ts'
import { operatorFamilies } from '../src/mql/expressions/operators/table.ts'
import { filterOperators } from '../src/mql/filter/filter.ts'
import { conditionOperators } from '../src/mql/filter/filter-operators.ts'
import { unsupportedFilterOperators } from '../src/mql/filter/parse-filter.ts'
import { geoOperators } from '../src/mql/filter/parse-geo.ts'
import { firstStages, lastStages, sourceStages, stages, unsupportedStages } from '../src/mql/stages/table.ts'
import { updateOperators } from '../src/mql/update/update.ts'
import { windowFunctions } from '../src/mql/windows/functions.ts'
import { expressionFamilies, stageFamilies, updateFamilies } from '../test/languages/mql/families.ts'
import { operatorsIn, readFindCases } from '../test/support/mql-cases.ts'
import { type GeneratedPage, write } from './generated-page.ts'

type CasesOf = (name: string) => number

const findCases = readFindCases().flatMap(({ cases }) => cases)
const updateCases = Object.values(updateFamilies).flat()
const { accumulators: accumulatorCases, 'window functions': windowCases, ...stageCases } = stageFamilies

const inFilters: CasesOf = name => findCases.filter(({ filter }) => operatorsIn(filter).includes(name)).length
const inUpdates: CasesOf = name => updateCases.filter(({ update }) => Object.hasOwn(update, name)).length

/** Counts the cases in tables that are grouped by family and operator. */
function listedIn(families: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>>): CasesOf {
  return name => Object.values(families).reduce((sum, family) => sum + (family[name]?.length ?? 0), 0)
}

function row(area: string, family: string, names: Iterable<string>, casesOf: CasesOf | undefined): string {
  const list = [...names]
  const cases = casesOf === undefined ? '' : list.reduce((sum, name) => sum + casesOf(name), 0)
  return `| ${area} | ${family} | ${list.map(name => `\`${name}\``).join(' ')} | ${cases} |`
}

function languageRows(): string[] {
  const whole = [...filterOperators].filter(name => !Object.hasOwn(unsupportedFilterOperators, name))
  const inStages = listedIn(stageCases)
  const names = Object.keys(stages)
  const within = names.filter(name => !firstStages.has(name) && !lastStages.has(name))
  const first = [...firstStages].filter(name => !sourceStages.has(name))
  return [
    row('query', 'on a field', conditionOperators, inFilters),
    row('query', 'on the document', whole, inFilters),
    row('query', 'geospatial', geoOperators, inFilters),
    row('query', 'not supported', Object.keys(unsupportedFilterOperators), inFilters),
    row('update', '', updateOperators, inUpdates),
    row('stage', 'anywhere', within, inStages),
    row('stage', 'first', first, inStages),
    row('stage', 'last', lastStages, inStages),
    row('stage', 'about the server', sourceStages, undefined),
    row('stage', 'not supported', Object.keys(unsupportedStages), undefined),
    row('accumulator', '', Object.keys(accumulators), listedIn({ all: accumulatorCases! })),
    row('window function', '', Object.keys(windowFunctions), listedIn({ all: windowCases! })),
    ...Object.entries(operatorFamilies).map(([family, operators]) =>
      row('expression', family, Object.keys(operators), listedIn(expressionFamilies)),
    ),
  ]
}

function lines(): string[] {
  const commands = Object.entries(commandFamilies).map(
    ([family, list]) => `| ${family} | ${list.map(({ name }) => `\`${name}\``).join(' ')} |`,
  )
  return [
    '| family | commands |',
    '|---|---|',
    ...commands,
    '',
    '| language | family | operators | cases |',
    '|---|---|---|---|',
    ...languageRows(),
  ]
}

export const mongoPage: GeneratedPage = { path: 'docs/mongo.md', tool: 'tools/mongo-page.ts', lines }

if (process.argv[1] === import.meta.filename) write(mongoPage)
