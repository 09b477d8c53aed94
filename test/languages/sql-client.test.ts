/**
 * Runs the cases of the query language through the official client and a real socket, over one partition and
 * over five. Cases with items run in every mode of the client; each of the others runs in one mode, in turn.
 *
 * A stored item needs a string id and a partition key, and gets system properties. So the property `id` of
 * the cases is called `key` here, and the added properties are removed from the rows again.
 */

import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { Container, JSONValue, SqlQuerySpec } from '@azure/cosmos'
import { itemSlot } from '../../src/sql/compile/compiled.ts'
import { rowOrder } from '../../src/sql/compile/row-sorter.ts'
import { demandsOf } from '../../src/sql/planning/demands.ts'
import { type PreparedQuery, prepareQuery } from '../../src/sql/prepare.ts'
import { createFrame, runQueryOver } from '../../src/sql/run.ts'
import { printQuery } from '../../src/sql/syntax/print.ts'
import { canonicalKey } from '../../src/sql/values/compare.ts'
import type { RunOptions } from '../../src/sql/values/run-context.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { type Flaw, flawedQueries, flawOf } from '../query/client-flaws.ts'
import { type Mode, modes } from '../query/client-modes.ts'
import { startServer, type TestServer } from '../support/start-server.ts'

interface LanguageCase {
  readonly query?: string
  readonly value?: string
  readonly items?: readonly SqlValue[]
  readonly parameters?: Readonly<Record<string, SqlValue>>
  readonly rows?: readonly SqlValue[]
  readonly is?: SqlValue
  readonly error?: string
}

type Partitions = 1 | 5
const servers = { 1: await startServer({ partitions: 1 }), 5: await startServer({ partitions: 5 }) }

const folder = new URL('./sql/', import.meta.url)
const files = readdirSync(folder)
  .filter(name => name.endsWith('.json'))
  .sort()

/** The properties added to items make them differ, so DISTINCT gives other rows. */
const notStorable = 'SELECT DISTINCT * FROM c'

function casesOf(file: string): LanguageCase[] {
  const cases: LanguageCase[] = JSON.parse(readFileSync(new URL(file, folder), 'utf8').replaceAll(/\bid\b/g, 'key'))
  return cases.filter(each => textOf(each) !== notStorable)
}

function textOf({ query, value }: LanguageCase): string {
  return query ?? `SELECT VALUE ${value}`
}

/** Containers by their items: many cases share them. */
const containers = new Map<string, Promise<Container>>()

function containerFor(partitions: Partitions, languageCase: LanguageCase): Promise<Container> {
  const { items = [], error } = languageCase
  const order = error === undefined ? demandsOf(prepareQuery(textOf(languageCase)).query, new Map()).order : []
  const composite = order.map(({ path, isDescending }) => ({
    path: `/${path.map(String).join('/')}`,
    order: isDescending ? 'descending' : 'ascending',
  }))
  const compositeIndexes = order.length < 2 ? [] : [composite]
  const name = JSON.stringify([partitions, items, compositeIndexes])
  const known = containers.get(name)
  if (known !== undefined) return known
  const made = makeContainer(servers[partitions], items, { compositeIndexes })
  containers.set(name, made)
  return made
}

async function makeContainer(
  server: TestServer,
  items: readonly SqlValue[],
  indexingPolicy: object,
): Promise<Container> {
  const { database } = await server.client.databases.createIfNotExists({ id: 'cases' })
  const { container } = await database.containers.create({ id: randomUUID(), partitionKey: '/pk', indexingPolicy })
  for (const [at, item] of items.entries()) {
    await container.items.create({ ...(item as object), id: `${at}`, pk: `p${at}` })
  }
  return container
}

const added = ['id', 'pk', '_rid', '_self', '_etag', '_attachments', '_ts']

/** Removes the added properties from items, wherever they are in a row. */
function stripped(value: SqlValue): SqlValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(stripped)
  const isItem = Object.hasOwn(value, '_rid') && Object.hasOwn(value, '_self')
  const kept = Object.entries(value).filter(([name]) => !isItem || !added.includes(name))
  return Object.fromEntries(kept.map(([name, part]) => [name, stripped(part as SqlValue)]))
}

function specOf(languageCase: LanguageCase): SqlQuerySpec {
  const parameters = Object.entries(languageCase.parameters ?? {})
  return {
    query: textOf(languageCase),
    parameters: parameters.map(([name, value]) => ({ name, value: value as JSONValue })),
  }
}

function optionsOf({ parameters = {} }: LanguageCase, partitions: Partitions): RunOptions {
  return { parameters: new Map(Object.entries(parameters)), momentMs: servers[partitions].db.clock.now() * 1000 }
}

/** The current time differs from that of the cases, and has whole seconds. */
function expectedRows(languageCase: LanguageCase, partitions: Partitions): readonly SqlValue[] {
  const { rows, is, items = [] } = languageCase
  const text = textOf(languageCase)
  if (/GETCURRENT|NOW\(/i.test(text)) {
    return runQueryOver(prepareQuery(text), optionsOf(languageCase, partitions), items)
  }
  return rows ?? (is === undefined ? [] : [is])
}

function texts(rows: readonly SqlValue[]): string[] {
  return rows.map(canonicalKey).sort()
}

function assertRows(rows: readonly SqlValue[], languageCase: LanguageCase, partitions: Partitions): void {
  const expected = expectedRows(languageCase, partitions)
  const text = textOf(languageCase)
  const prepared = prepareQuery(text)
  const { query, select } = prepared
  const { items = [] } = languageCase
  const options = optionsOf(languageCase, partitions)
  assert.equal(rows.length, expected.length)
  if (query.orderBy !== undefined && select.derived === undefined && !query.distinct) {
    assertInOrder(rows, orderGroups(prepared, options, items), query.offset?.kind === 'count' ? query.offset.value : 0)
  } else if (query.orderBy === undefined && (query.top !== undefined || query.offset !== undefined)) {
    // Without an order, any rows of the right number are correct.
    const whole = printQuery({ ...query, top: undefined, offset: undefined, limit: undefined })
    assertAmong(rows, runQueryOver(prepareQuery(whole), options, items))
  } else if (query.orderBy !== undefined) {
    assert.deepEqual(rows, expected)
  } else if (/MAKELIST|MAKESET/.test(text)) {
    // Lists come in the order in which the partitions answer.
    assert.deepEqual(texts(rows.map(sorted)), texts(expected.map(sorted)))
  } else {
    assert.deepEqual(texts(rows), texts(expected))
  }
}

function assertAmong(rows: readonly SqlValue[], choice: readonly SqlValue[]): void {
  const left = texts(choice)
  for (const text of texts(rows)) {
    const at = left.indexOf(text)
    assert.notEqual(at, -1, `${text} is not among ${left}`)
    left.splice(at, 1)
  }
}

/** The rows grouped by sort key. Rows with equal keys may come in any order of partitions. */
function orderGroups(prepared: PreparedQuery, options: RunOptions, items: readonly SqlValue[]): SqlValue[][] {
  const { bindRows, filter, orderKeys, project } = prepared.select
  const frame = createFrame(prepared, options)
  const found: { readonly keys: readonly SqlValue[]; readonly row: SqlValue }[] = []
  for (const item of items) {
    frame.values[itemSlot] = item
    bindRows(frame, () => {
      const keys = orderKeys.map(({ evaluate }) => evaluate(frame))
      const isIn = (filter === undefined || filter(frame) === true) && keys.some(key => key !== undefined)
      const row = isIn ? project(frame) : undefined
      if (row !== undefined) found.push({ keys, row })
      return true
    })
  }
  const compare = rowOrder(orderKeys)
  found.sort((a, b) => compare(a.keys, b.keys))
  const groups: SqlValue[][] = []
  for (const [at, { keys, row }] of found.entries()) {
    if (at > 0 && compare(found[at - 1]!.keys, keys) === 0) groups.at(-1)!.push(row)
    else groups.push([row])
  }
  return groups
}

/** The window begins at row `first`. It may begin and end within a group. */
function assertInOrder(rows: readonly SqlValue[], groups: readonly (readonly SqlValue[])[], first: number): void {
  let at = -first
  for (const group of groups) {
    assertAmong(rows.slice(Math.max(0, at), Math.max(0, at + group.length)), group)
    at += group.length
  }
}

function sorted(value: SqlValue): SqlValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.toSorted((a, b) => (canonicalKey(a) < canonicalKey(b) ? -1 : 1))
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, sorted(part as SqlValue)]))
}

async function check(
  languageCase: LanguageCase,
  { options, fetch }: Mode,
  partitions: Partitions,
  flaw: Flaw | undefined,
): Promise<void> {
  const fetched = fetch(await containerFor(partitions, languageCase), specOf(languageCase), options)
  if (flaw?.error !== undefined) {
    await assert.rejects(fetched, flaw.error)
    return
  }
  const rows = (await fetched).map(stripped)
  if (flaw?.rows !== undefined) assert.deepEqual(texts(rows), texts(flaw.rows))
  else assertRows(rows, languageCase, partitions)
}

/** The error of a case is a part of the message, which is JSON here, or an error kind. */
async function checkRefused(languageCase: LanguageCase, mode: Mode, partitions: Partitions): Promise<void> {
  const { error = '' } = languageCase
  const container = await containerFor(partitions, languageCase)
  await assert.rejects(mode.fetch(container, specOf(languageCase), mode.options), (thrown: unknown) => {
    const { code, message } = thrown as { code?: number; message: string }
    assert.equal(code, error === 'too_large' ? 413 : 400, message)
    const isKind = ['syntax', 'malformed', 'unsupported', 'too_large'].includes(error)
    assert.ok(isKind || message.includes(error) || message.includes(JSON.stringify(error).slice(1, -1)), message)
    return true
  })
}

let turn = 0
const met = new Set<string>()

for (const file of files) {
  describe(file, () => {
    for (const languageCase of casesOf(file)) {
      const text = textOf(languageCase)
      const name = text.slice(0, 150) || '(empty)'
      const ways = modes.flatMap(mode => ([1, 5] as const).map(partitions => ({ mode, partitions })))
      if (languageCase.error !== undefined) {
        const { mode, partitions } = ways[turn++ % ways.length]!
        test(`${name} is refused by ${mode.name} over ${partitions}`, () =>
          checkRefused(languageCase, mode, partitions))
        continue
      }
      const hasItems = (languageCase.items?.length ?? 0) > 0
      for (const { mode, partitions } of hasItems ? ways : [ways[turn++ % ways.length]!]) {
        const flaw = hasItems ? flawOf(text, partitions) : undefined
        if (flaw !== undefined) met.add(text)
        const but = flaw === undefined ? '' : `, but ${flaw.why}`
        test(`${name} by ${mode.name} over ${partitions}${but}`, () => check(languageCase, mode, partitions, flaw))
      }
    }
  })
}

test('every known flaw of the client still occurs', () => {
  assert.deepEqual([...met].sort(), [...flawedQueries].sort())
})
