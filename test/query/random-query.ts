/**
 * Random items and random queries over them, as data. A query is kept in parts, so that a test can print it,
 * remove its window, or ask for its rows together with their order keys.
 */

import { anyElement } from '../../src/document/index-definition.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { fc } from '../support/property.ts'
import { ascending, type Components, descending, type Item } from './fixture.ts'

export interface Order {
  readonly expression: string
  readonly isDescending: boolean
}

export interface RandomQuery {
  readonly isDistinct: boolean
  /** One expression, a list of names and expressions, or everything. */
  readonly selection: string | readonly (readonly [name: string, expression: string])[] | '*'
  readonly from: string
  readonly where: string | undefined
  readonly groupBy: readonly string[]
  readonly orderBy: readonly Order[]
  readonly top: number | undefined
  readonly window: { readonly offset: number; readonly limit: number } | undefined
  /** Rows are made from single items, without a derived table, groups or aggregates. */
  readonly isPerItem: boolean
}

/** The same for every query, whether it uses them or not. */
export const parameters: ReadonlyMap<string, SqlValue> = new Map<string, SqlValue>([
  ['@one', 1],
  ['@text', 'b'],
  ['@object', { x: 1 }],
  ['@array', [1, 'a']],
  ['@null', null],
])

export function printQuery(query: RandomQuery): string {
  const { isDistinct, top, window } = query
  return print(query, {
    select: `${isDistinct ? 'DISTINCT ' : ''}${top === undefined ? '' : `TOP ${top} `}${selected(query)}`,
    tail: window === undefined ? '' : ` OFFSET ${window.offset} LIMIT ${window.limit}`,
  })
}

/** The query without its window. */
export function printWhole(query: RandomQuery): string {
  return printQuery({ ...query, top: undefined, window: undefined })
}

/** Selects `{"keys": [[…], …], "row": …}`, in order and with duplicates; an undefined row has no `row`. */
export function printWithKeys(query: RandomQuery): string {
  const keys = query.orderBy.map(({ expression }) => `[${expression}]`).join(', ')
  return print(query, { select: `VALUE {"keys": [${keys}], "row": ${rowOf(query)}}`, tail: '' })
}

function print(query: RandomQuery, { select, tail }: { select: string; tail: string }): string {
  const { from, where, groupBy, orderBy } = query
  const order = orderBy.map(({ expression, isDescending }) => `${expression}${isDescending ? ' DESC' : ''}`)
  return [
    `SELECT ${select} FROM ${from}`,
    where === undefined ? '' : ` WHERE ${where}`,
    groupBy.length === 0 ? '' : ` GROUP BY ${groupBy.join(', ')}`,
    order.length === 0 ? '' : ` ORDER BY ${order.join(', ')}`,
    tail,
  ].join('')
}

function selected({ selection }: RandomQuery): string {
  if (selection === '*') return '*'
  if (typeof selection === 'string') return `VALUE ${selection}`
  return selection.map(([name, expression]) => `${expression} AS ${name}`).join(', ')
}

function rowOf({ selection }: RandomQuery): string {
  if (selection === '*') return 'c'
  if (typeof selection === 'string') return selection
  return `{${selection.map(([name, expression]) => `"${name}": ${expression}`).join(', ')}}`
}

/** Longer than an index key, and longer than the sort key in a token. */
const long = 'long '.repeat(60)
const longer = 'longer '.repeat(80)

/** Few values, so that items match; all types; texts that sort differently by bytes and code points. */
const texts = [
  ...['', 'a', 'b', 'ab', 'B', 'é', '日本', '😀', '\ufffd', '\ud83d', 'a\u0000', 'a\u0001b'],
  ...[`${long}1`, `${long}2`, `${longer}1`, `${longer}2`],
]
/** Sums of these are exact in any order. */
const numbers = [0, 1, 2, 3, -1, 0.5, -2.25, 1024, 2 ** 40]

const scalar = fc.oneof(
  fc.constantFrom<SqlValue>(null, true, false),
  { weight: 3, arbitrary: fc.constantFrom<SqlValue>(...numbers) },
  { weight: 3, arbitrary: fc.constantFrom<SqlValue>(...texts) },
)
const value = fc.oneof(
  { weight: 8, arbitrary: scalar },
  fc.array(scalar, { maxLength: 3 }),
  fc.record({ x: scalar, y: scalar }, { requiredKeys: [] }),
)

export const partitionKeys = ['p0', 'p1', 'p2', 'p3', 'p4', 'p5', 'p6', 0, 1, null, true]

export const properties = fc.record(
  {
    a: value,
    b: value,
    n: fc.constantFrom(...numbers),
    s: fc.constantFrom(...texts),
    o: fc.record({ x: value, y: fc.record({ z: scalar }, { requiredKeys: [] }) }, { requiredKeys: [] }),
    list: fc.array(fc.oneof(scalar, fc.record({ p: scalar, q: scalar }, { requiredKeys: ['p'] })), { maxLength: 4 }),
    tags: fc.array(fc.constantFrom(...texts), { maxLength: 4 }),
  },
  { requiredKeys: [] },
)

/** Items in the order in which they are written. */
export function items(minLength: number): fc.Arbitrary<Item[]> {
  return fc
    .array(fc.tuple(fc.constantFrom(...partitionKeys), properties), { minLength, maxLength: 30, size: 'max' })
    .map(list => list.map(([pk, rest], at): Item => ({ id: `i${at}`, pk, ...rest })))
}

/** As the engine makes them: the first component ascends, and serves the opposite order as well. */
const indexChoices: readonly Components[] = [
  [ascending('a')],
  [ascending('b')],
  [ascending('n')],
  [ascending('s')],
  [ascending('pk')],
  [ascending('o', 'x')],
  [{ path: ['tags', anyElement], isDescending: false }],
  [{ path: ['list', anyElement], isDescending: false }],
  [ascending('a'), ascending('b')],
  [ascending('a'), descending('b')],
  [ascending('n'), ascending('s'), descending('a')],
  [ascending('s'), ascending('o', 'x')],
]

export const indexSets: fc.Arbitrary<readonly Components[]> = fc.subarray([...indexChoices], { minLength: 1 })

const path = fc.constantFrom(
  ...['c.a', 'c.b', 'c.n', 'c.s', 'c.o.x', 'c.o.y.z', 'c["a"]', 'c.pk', 'c.id', 'c.list[0]', 'c.missing'],
)
const literal = fc.oneof(
  fc.constantFrom('null', 'true', 'false', '@one', '@text', '@object', '@array', '@null'),
  fc.constantFrom('-1', '0', '-0', '0.5', '1024', 'undefined'),
  fc.constantFrom(...texts).map(text => JSON.stringify(text)),
)
const comparison = fc.constantFrom('=', '=', '=', '!=', '<', '<=', '>', '>=')

const { filter } = fc.letrec<{ filter: string }>(tie => ({
  filter: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    { weight: 5, arbitrary: fc.tuple(path, comparison, literal).map(([a, sign, b]) => `${a} ${sign} ${b}`) },
    fc.tuple(literal, comparison, path).map(([a, sign, b]) => `${a} ${sign} ${b}`),
    fc.tuple(path, comparison, path).map(([a, sign, b]) => `${a} ${sign} ${b}`),
    fc.tuple(path, fc.boolean(), fc.array(literal, { minLength: 1, maxLength: 4 })).map(([a, not, list]) => {
      return `${a} ${not ? 'NOT ' : ''}IN (${list.join(', ')})`
    }),
    fc.tuple(path, literal, literal).map(([a, low, high]) => `(${a} BETWEEN ${low} AND ${high})`),
    fc.tuple(path, comparison, literal, comparison, literal).map(([a, one, low, two, high]) => {
      return `${a} ${one} ${low} AND ${a} ${two} ${high}`
    }),
    fc.tuple(path, fc.constantFrom(...texts), fc.constantFrom('', ', false', ', true')).map(([a, text, rest]) => {
      return `STARTSWITH(${a}, ${JSON.stringify(text)}${rest})`
    }),
    fc.tuple(path, fc.constantFrom("'%a%'", "'b%'", "'_'", '@text')).map(([a, pattern]) => `${a} LIKE ${pattern}`),
    path.map(a => `IS_DEFINED(${a})`),
    path.map(a => `IS_NUMBER(${a})`),
    fc.tuple(fc.constantFrom('c.tags', 'c.list', 'c.a'), literal).map(([list, one]) => {
      return `ARRAY_CONTAINS(${list}, ${one})`
    }),
    fc.constant('ARRAY_CONTAINS(c.list, {"p": 1}, true)'),
    fc.tuple(comparison, literal).map(([sign, one]) => {
      return `EXISTS(SELECT VALUE t FROM t IN c.list WHERE t.p ${sign} ${one})`
    }),
    fc.tuple(fc.constantFrom('AND', 'OR'), tie('filter'), tie('filter')).map(([sign, a, b]) => `(${a}) ${sign} (${b})`),
    { weight: 3, arbitrary: fc.tuple(tie('filter'), tie('filter')).map(([a, b]) => `${a} AND (${b})`) },
    tie('filter').map(a => `NOT (${a})`),
    fc.tuple(path, literal, literal).map(([a, b, d]) => `(${a} ?? ${b}) = ${d}`),
  ),
}))
const where = fc.option(filter, { nil: undefined, freq: 5 })

const perItem = fc.oneof(
  { weight: 4, arbitrary: path },
  fc.constantFrom('c', '1', '(SELECT VALUE COUNT(1) FROM t IN c.list)', 'ARRAY(SELECT VALUE t.p FROM t IN c.list)'),
  fc.constantFrom('[c.a, c.b]', '{"a": c.a, "o": c.o}', 'CONCAT(c.s, "!")', 'c.n + 1', 'ARRAY_LENGTH(c.tags)'),
)
const joinedFrom = fc.constantFrom('c JOIN t IN c.list', 'c JOIN t IN c.tags', 'c JOIN t IN c.list JOIN u IN c.tags')
const derivedFrom = fc.oneof(
  filter.map(each => `(SELECT VALUE c FROM c WHERE ${each}) AS c`),
  fc.constantFrom('(SELECT DISTINCT c.a, c.n FROM c) AS c', '(SELECT c.a, c.b, c.n, c.s FROM c) AS c'),
  fc.constantFrom('(SELECT c.a, COUNT(1) AS n, MAX(c.s) AS s FROM c GROUP BY c.a) AS c'),
)

const orderItem = fc.record({
  expression: fc.constantFrom(...['c.a', 'c.b', 'c.n', 'c.s', 'c.o.x', 'c.id', 'c.pk', 'c["n"]', 'c.list[0]']),
  isDescending: fc.boolean(),
})
const orders = fc.oneof(
  { weight: 3, arbitrary: fc.constant<Order[]>([]) },
  { weight: 3, arbitrary: orderItem.map((order): Order[] => [order]) },
  fc.uniqueArray(orderItem, { minLength: 2, maxLength: 3, selector: ({ expression }) => expression }),
  // The order of some composite indexes, and its opposite.
  fc.tuple(fc.boolean(), fc.boolean()).map(([a, b]): Order[] => [
    { expression: 'c.a', isDescending: a },
    { expression: 'c.b', isDescending: b },
  ]),
)

const noWindow = { top: undefined, window: undefined }
const cuts = fc.oneof(
  { weight: 3, arbitrary: fc.constant(noWindow) },
  fc.nat(12).map(top => ({ top, window: undefined })),
  fc.record({ offset: fc.nat(8), limit: fc.nat(12) }).map(window => ({ top: undefined, window })),
)

function selections(expression: fc.Arbitrary<string>): fc.Arbitrary<RandomQuery['selection']> {
  return fc.oneof(
    expression,
    fc.tuple(expression, expression).map(([x, y]): [string, string][] => [
      ['x', x],
      ['y', y],
    ]),
  )
}

const itemQueries = fc
  .record({
    isDistinct: fc.boolean(),
    selection: fc.oneof({ weight: 4, arbitrary: selections(perItem) }, fc.constant('*' as const)),
    from: fc.constantFrom('c', 'c', 'c', 'root c'),
    where,
    orderBy: orders,
    cut: cuts,
  })
  .map(({ cut, ...parts }): RandomQuery => ({ ...parts, ...cut, groupBy: [], isPerItem: true }))

const joinQueries = fc
  .record({
    isDistinct: fc.boolean(),
    selection: selections(fc.constantFrom('t', 't.p', 'c.id', '[c.id, t]', 'c.a')),
    from: joinedFrom,
    where: fc.oneof(where, fc.constantFrom('t.p = 1', 't > "a"', 'c.n > 0 AND t != null')),
    orderBy: fc.oneof(
      orders,
      fc.constantFrom([{ expression: 't.p', isDescending: true }], [{ expression: 't', isDescending: false }]),
    ),
    cut: cuts,
  })
  .map(({ cut, ...parts }): RandomQuery => ({ ...parts, ...cut, groupBy: [], isPerItem: true }))

const derivedQueries = fc
  .record({
    isDistinct: fc.boolean(),
    selection: selections(fc.constantFrom('c', 'c.a', 'c.n', 'c.s', '[c.a, c.n]')),
    from: derivedFrom,
    where: fc.option(fc.constantFrom('c.n > 0', 'IS_DEFINED(c.a)', 'c.s >= "a"'), { nil: undefined }),
    orderBy: orders,
    cut: cuts,
  })
  .map(({ cut, ...parts }): RandomQuery => ({ ...parts, ...cut, groupBy: [], isPerItem: false }))

const aggregate = fc.oneof(
  fc.constantFrom('COUNT(1)', 'COUNT(1)', 'COUNT(c.a)', 'SUM(c.n)', 'AVG(c.n)', 'SUM(c.a)'),
  fc.constantFrom('MIN(c.s)', 'MAX(c.a)', 'MAX(c.n)'),
  filter.filter(each => !each.includes('SELECT')).map(each => `COUNTIF(${each})`),
)

const aggregateQueries = fc
  .record({
    selection: selections(aggregate),
    from: fc.oneof({ weight: 3, arbitrary: fc.constant('c') }, joinedFrom, derivedFrom),
    where,
    orderBy: fc.oneof({ weight: 5, arbitrary: fc.constant<Order[]>([]) }, orders),
    cut: fc.oneof({ weight: 3, arbitrary: fc.constant(noWindow) }, cuts),
  })
  .map(({ cut, ...parts }): RandomQuery => ({ ...parts, ...cut, isDistinct: false, groupBy: [], isPerItem: false }))

const groupKey = fc.constantFrom(...['c.a', 'c.n', 'c.s', 'c.pk', 'c.o', 'c.list[0]', 'ARRAY_LENGTH(c.tags)'])

const groupQueries = fc
  .record({
    isDistinct: fc.boolean(),
    keys: fc.uniqueArray(groupKey, { minLength: 1, maxLength: 2 }),
    aggregates: fc.array(aggregate, { maxLength: 2 }),
    from: fc.oneof({ weight: 3, arbitrary: fc.constant('c') }, joinedFrom),
    where,
    cut: cuts,
  })
  .map(({ keys, aggregates, cut, ...parts }): RandomQuery => {
    const selection = [...keys, ...aggregates].map((expression, at) => [`k${at}`, expression] as const)
    return { ...parts, ...cut, selection, groupBy: keys, orderBy: [], isPerItem: false }
  })

export const queries: fc.Arbitrary<RandomQuery> = fc.oneof(
  { weight: 5, arbitrary: itemQueries },
  { weight: 2, arbitrary: joinQueries },
  derivedQueries,
  { weight: 2, arbitrary: aggregateQueries },
  { weight: 2, arbitrary: groupQueries },
)

/** Queries whose rows name their item, so that a test can follow items through pages. */
export const walkQueries: fc.Arbitrary<RandomQuery> = fc
  .record({
    from: fc.constantFrom('c', 'c', 'c JOIN t IN c.tags'),
    // Most filters accept few items, which makes short walks.
    where: fc.oneof(
      where,
      fc.constantFrom('IS_DEFINED(c.a)', 'IS_DEFINED(c.b)', 'c.n > -1', 'c.s >= ""', 'STARTSWITH(c.s, "")'),
      fc.constantFrom(
        'ARRAY_CONTAINS(c.tags, "a")',
        'c.n IN (0, 1, 2, 3, 0.5)',
        'c.pk = "p1"',
        'c.s < "b" AND c.a != 1',
      ),
    ),
    orderBy: orders,
    isDistinct: fc.boolean(),
  })
  .map(
    ({ from, ...parts }): RandomQuery => ({
      ...parts,
      from,
      selection: from === 'c' ? '[c.id, c.n]' : '[c.id, t]',
      groupBy: [],
      ...noWindow,
      isPerItem: true,
    }),
  )
