/** Tests of printing: parsing a printed tree gives the same tree. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import type { Expression, Query } from './ast.ts'
import { Lexer } from './lexer.ts'
import { parseQuery } from './parser.ts'
import { printQuery } from './print.ts'

const span = { start: 0, end: 0 }

/** Removes the positions of nodes, which may differ. */
function withoutSpans(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutSpans)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => name !== 'span')
      .map(([name, child]) => [name, withoutSpans(child)]),
  )
}

/** Whether a name can be written without quotes. */
function isPlainName(name: string): boolean {
  return name !== '' && !name.includes(' ') && new Lexer(name).next().type === 'identifier'
}

const word = fc
  .stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,6}$/)
  .filter(
    name =>
      isPlainName(name) && !['ALL', 'FIRST', 'INFINITY', 'LAST', 'LET', 'NAN', 'RANK'].includes(name.toUpperCase()),
  )

type Kinds = { expression: Expression; query: Query }

const { expression, query } = fc.letrec<Kinds>(tie => {
  const sub = tie('expression')
  const list = fc.array(sub, { maxLength: 3 })
  const node = <Kind extends Expression['kind']>(
    kind: Kind,
    fields: {
      [Field in Exclude<keyof Extract<Expression, { kind: Kind }>, 'kind' | 'span' | 'integer'>]: fc.Arbitrary<unknown>
    },
  ) => fc.record({ kind: fc.constant(kind), span: fc.constant(span), ...fields }) as unknown as fc.Arbitrary<Expression>
  const leaf = fc.oneof(
    node('literal', {
      value: fc.oneof(
        fc.constantFrom(null, true, false, undefined),
        fc.double({ min: 0, noNaN: true, noDefaultInfinity: true }).map(number => number + 0),
        fc.nat(),
        fc.string({ unit: 'grapheme' }),
      ),
    }),
    node('parameter', { name: word.map(name => `@${name}`) }),
    node('identifier', { name: word }),
  )
  const logical = fc
    .record({
      kind: fc.constant('logical' as const),
      span: fc.constant(span),
      operator: fc.constantFrom('AND' as const, 'OR' as const),
      operands: fc.array(sub, { minLength: 2, maxLength: 20 }),
    })
    .filter(({ operator, operands }) => !(operands[0]?.kind === 'logical' && operands[0].operator === operator))
  const binaryOperator = fc.constantFrom(
    ...['*', '/', '%', '+', '-', '&', '^', '|', '||', '=', '!=', '<', '<=', '>', '>=', '<<', '>>', '>>>'],
  )
  const path = fc
    .tuple(word, fc.array(fc.oneof(word, fc.nat(9), fc.constant('two words')), { maxLength: 2 }))
    .map(([root, steps]) =>
      steps.reduce<Expression>(
        (object, step) =>
          typeof step === 'string' && isPlainName(step)
            ? { kind: 'member', object, name: step, span }
            : { kind: 'index', object, index: { kind: 'literal', value: step, span }, span },
        { kind: 'identifier', name: root, span },
      ),
    )
  const source = fc.oneof(
    fc.record({
      iterates: fc.constant(true),
      alias: word,
      collection: path.map(expression => ({ kind: 'path', expression, span })),
      span: fc.constant(span),
    }),
    fc.record({
      iterates: fc.constant(false),
      alias: fc.option(word, { nil: undefined }),
      collection: fc.oneof(
        path.map(expression => ({ kind: 'path', expression, span })),
        tie('query').map(query => ({ kind: 'query', query, span })),
      ),
      span: fc.constant(span),
    }),
  )
  const count = fc.nat(99).map(value => ({ kind: 'count', value, isInteger: true, span }))
  const selection = fc.oneof(
    fc.constant({ kind: 'star', span }),
    sub.map(expression => ({ kind: 'value', expression, span })),
    fc
      .array(fc.record({ expression: sub, alias: fc.option(word, { nil: undefined }), span: fc.constant(span) }), {
        minLength: 1,
        maxLength: 3,
      })
      .map(items => ({ kind: 'list', items, span })),
  )
  return {
    expression: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      leaf,
      node('member', { object: sub, name: word }),
      node('index', { object: sub, index: sub }),
      node('unary', { operator: fc.constantFrom('-', '+', '~', 'NOT'), operand: sub }),
      node('binary', { operator: binaryOperator, left: sub, right: sub }),
      logical as fc.Arbitrary<Expression>,
      node('coalesce', { left: sub, right: sub }),
      node('conditional', { condition: sub, consequent: sub, alternative: sub }),
      node('between', { not: fc.boolean(), operand: sub, low: sub, high: sub }),
      node('in', { not: fc.boolean(), operand: sub, items: fc.array(sub, { minLength: 1, maxLength: 3 }) }),
      node('like', {
        not: fc.boolean(),
        operand: sub,
        pattern: sub,
        escapeCharacter: fc.option(fc.constantFrom('!', '\\', "'"), { nil: undefined }),
      }),
      node('array', { items: list }),
      node('object', { properties: fc.array(fc.record({ name: fc.string(), value: sub }), { maxLength: 3 }) }),
      node('call', { name: word, isUserDefined: fc.boolean(), arguments: list }),
      node('subquery', {
        form: fc.constantFrom('SCALAR', 'EXISTS', 'ARRAY', 'ALL', 'FIRST', 'LAST'),
        query: tie('query'),
      }),
      node('let', { name: word, value: sub, body: sub }),
    ),
    query: fc
      .record({
        distinct: fc.boolean(),
        top: fc.option(count, { nil: undefined }),
        selection,
        sources: fc.array(source, { maxLength: 2 }),
        where: fc.option(sub, { nil: undefined }),
        groupBy: fc.option(fc.array(sub, { minLength: 1, maxLength: 2 }), { nil: undefined }),
        orderBy: fc.option(
          fc
            .array(
              fc.record({
                expression: sub,
                direction: fc.constantFrom('ASC', 'DESC', undefined),
                span: fc.constant(span),
              }),
              { minLength: 1, maxLength: 2 },
            )
            .map(items => ({ isRank: false, items, span })),
          { nil: undefined },
        ),
        window: fc.option(fc.tuple(count, count), { nil: undefined }),
      })
      .map(({ window, ...rest }) => ({
        ...rest,
        offset: window?.[0],
        limit: window?.[1],
        span,
      })) as fc.Arbitrary<Query>,
  }
})

test('parsing a printed query gives the same query', () => {
  fc.assert(
    fc.property(query, tree => {
      const text = printQuery(tree)
      assert.deepEqual(withoutSpans(parseQuery(text)), withoutSpans(tree), text)
    }),
    { numRuns: 1500 },
  )
})

test('printing twice gives the same text', () => {
  fc.assert(
    fc.property(expression, tree => {
      const selection = { kind: 'value' as const, expression: tree, span }
      const text = printQuery({ ...emptyQuery, selection })
      assert.equal(printQuery(parseQuery(text)), text)
    }),
    { numRuns: 1500 },
  )
})

const emptyQuery: Omit<Query, 'selection'> = {
  distinct: false,
  top: undefined,
  sources: [],
  where: undefined,
  groupBy: undefined,
  orderBy: undefined,
  offset: undefined,
  limit: undefined,
  span,
}

test('subqueries are indented and each clause starts a line', () => {
  const text = [
    'SELECT info',
    'FROM c',
    'JOIN (',
    '    SELECT VALUE s',
    '    FROM s IN c.scores',
    '    WHERE EXISTS(',
    '        SELECT VALUE 1',
    '    )',
    '    GROUP BY s',
    ') AS info',
    'WHERE (c.a = "b")',
    'ORDER BY c.a DESC, c.b',
    'OFFSET 0 LIMIT 10',
  ].join('\n')
  assert.equal(printQuery(parseQuery(text)), text)
})
