/**
 * The query language by cases: every file in `sql/` is a list of queries over a few items, with the rows they
 * return.
 *
 * A case is `{query, items, parameters, rows}`, or `{…, error}` with a part of the message or the error kind,
 * or the short form `{value, is}` for `SELECT VALUE <value>`, where a missing `is` means undefined. All cases
 * run at the same moment.
 */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { RequestError } from '../../src/base/error.ts'
import { functionFamilies } from '../../src/sql/functions/table.ts'
import { prepareQuery } from '../../src/sql/prepare.ts'
import { runQueryOver } from '../../src/sql/run.ts'
import { printQuery } from '../../src/sql/syntax/print.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'

interface LanguageCase {
  readonly query?: string
  readonly value?: string
  readonly items?: readonly SqlValue[]
  readonly parameters?: Readonly<Record<string, SqlValue>>
  readonly rows?: readonly SqlValue[]
  readonly is?: SqlValue
  readonly error?: string
}

const momentMs = 1_700_000_000_500
const folder = new URL('./sql/', import.meta.url)
const files = readdirSync(folder)
  .filter(name => name.endsWith('.json'))
  .sort()
const casesByFile = new Map(
  files.map(name => [name, JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as readonly LanguageCase[]]),
)

function textOf({ query, value }: LanguageCase): string {
  return query ?? `SELECT VALUE ${value}`
}

function run(text: string, { items = [], parameters = {} }: LanguageCase): SqlValue[] {
  const options = { momentMs, parameters: new Map(Object.entries(parameters)) }
  return runQueryOver(prepareQuery(text), options, items)
}

function rowsOf({ rows, is }: LanguageCase): readonly SqlValue[] {
  return rows ?? (is === undefined ? [] : [is])
}

function check(text: string, languageCase: LanguageCase): void {
  const { error } = languageCase
  if (error === undefined) {
    // Through JSON, as a client sees it: undefined disappears, and -0 becomes 0.
    assert.deepEqual(JSON.parse(JSON.stringify(run(text, languageCase))), rowsOf(languageCase))
    return
  }
  assert.throws(
    () => run(text, languageCase),
    (thrown: unknown) => {
      assert.ok(thrown instanceof RequestError, String(thrown))
      assert.ok(thrown.kind === error || thrown.message.includes(error), thrown.message)
      return true
    },
  )
}

for (const [file, cases] of casesByFile) {
  describe(file, () => {
    for (const languageCase of cases) {
      const text = textOf(languageCase)
      test(text.slice(0, 200) || '(empty)', () => check(text, languageCase))
    }
  })
}

test('every case means the same after it is printed and parsed again', () => {
  for (const cases of casesByFile.values()) {
    for (const languageCase of cases) {
      if (languageCase.error !== undefined) continue
      check(printQuery(prepareQuery(textOf(languageCase)).query), languageCase)
    }
  }
})

test('every built-in function has at least three cases', () => {
  const texts = [...casesByFile.values()].flat().map(languageCase => textOf(languageCase).toUpperCase())
  const missing: string[] = []
  for (const [family, functions] of Object.entries(functionFamilies)) {
    if (family === 'not supported') continue
    for (const names of Object.keys(functions)) {
      const count = texts.filter(text => names.split(' ').some(name => calls(text, name))).length
      if (count < 3) missing.push(`${names}: ${count}`)
    }
  }
  assert.deepEqual(missing, [])
})

/** Whether the text calls the function of exactly this name: `EXP(` is not in `REGEXP(`. */
function calls(text: string, name: string): boolean {
  for (let at = text.indexOf(`${name}(`); at !== -1; at = text.indexOf(`${name}(`, at + 1)) {
    const before = text.charAt(at - 1)
    if (!(before === '_' || (before >= 'A' && before <= 'Z') || (before >= '0' && before <= '9'))) return true
  }
  return false
}
