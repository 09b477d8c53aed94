/** Tests of parsing: precedence, positions and limits. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { queryDepthMax } from '../../base/limits.ts'
import { QueryError } from './diagnostic.ts'
import { parseQuery } from './parser.ts'
import { printExpression } from './print.ts'

function printed(expression: string): string {
  const { selection } = parseQuery(`SELECT VALUE ${expression}`)
  assert.equal(selection.kind, 'value')
  return selection.kind === 'value' ? printExpression(selection.expression) : ''
}

function failure(text: string): QueryError {
  try {
    parseQuery(text)
  } catch (error) {
    assert.ok(error instanceof QueryError, String(error))
    return error
  }
  assert.fail(`${text} was accepted`)
}

describe('operators bind as in the service', () => {
  const cases: readonly (readonly [string, string])[] = [
    ['NOT 1 = 2', '((NOT 1) = 2)'],
    ['NOT c.x IN (1, 2)', '((NOT c.x) IN (1, 2))'],
    ['NOT c.x BETWEEN 1 AND 2', '((NOT c.x) BETWEEN 1 AND 2)'],
    ["NOT c.x LIKE 'a%'", '((NOT c.x) LIKE "a%")'],
    ['NOT a AND b', '((NOT a) AND b)'],
    ['a = b = c', '((a = b) = c)'],
    ['a < b < c', '((a < b) < c)'],
    ['a <> b', '(a != b)'],
    ['a ?? b ?? c', '(a ?? (b ?? c))'],
    ['1 + 2 ?? 3', '((1 + 2) ?? 3)'],
    ['1 = 2 ?? 3', '((1 = 2) ?? 3)'],
    ['true ?? false AND true', '(true ?? (false AND true))'],
    ['-1 ?? 2', '(-1 ?? 2)'],
    ['1 | 2 + 3', '((1 | 2) + 3)'],
    ['1 + 2 | 3', '((1 + 2) | 3)'],
    ['1 & 2 + 3', '((1 & 2) + 3)'],
    ['1 + 2 * 3 - 4', '((1 + (2 * 3)) - 4)'],
    ['a || b = c || d', '((a || b) = (c || d))'],
    ['a << 1 = b', '((a << 1) = b)'],
    ['a OR b AND c OR d', '((a OR (b AND c)) OR d)'],
    ['a AND (b AND c)', '(a AND (b AND c))'],
    ['a ? b : c ? d : e', '(a ? b : (c ? d : e))'],
    ["c.name LIKE a || '%' ESCAPE '!'", '(c.name LIKE (a || "%") ESCAPE "!")'],
    ['x BETWEEN a | b AND c + d', '(x BETWEEN (a | b) AND (c + d))'],
    ['x NOT IN (1) AND y NOT LIKE "b"', '((x NOT IN (1)) AND (y NOT LIKE "b"))'],
    ['- -1', '(- -1)'],
    ['(1).a', '(1).a'],
    ['(-1)[0]', '(-1)[0]'],
    ['LET x = a > 1 IN x = b', '(LET x = (a > 1) IN (x = b))'],
    ['first(SELECT 1)[0]', 'FIRST(\n    SELECT 1\n)[0]'],
    ['last + all.x', '(last + all.x)'],
    ['udf.f(1)', 'udf.f(1)'],
  ]
  for (const [text, expected] of cases) {
    test(text, () => assert.equal(printed(text), expected))
  }
})

test('parentheses around a leading AND chain make no difference to the tree', () => {
  assert.deepEqual(printed('(a AND b) AND c'), printed('a AND b AND c'))
})

describe('a syntax error gives its position', () => {
  test('in the form the service uses', () => {
    assert.equal(
      failure('SELECT c.name FROM c OFFSET -1 LIMIT 10').message,
      '{"errors":[{"severity":"Error","location":{"start":28,"end":29},"code":"SC1001",' +
        '"message":"Syntax error, incorrect syntax near \'-\'."}]}',
    )
  })

  test('with line and column for people', () => {
    const { kind, line, column } = failure('SELECT *\nFROM c\nWHERE c.a ==')
    assert.deepEqual({ kind, line, column }, { kind: 'syntax', line: 3, column: 12 })
  })

  test('also at the end of the text', () => {
    const { diagnostics, line, column } = failure('SELECT * FROM')
    assert.deepEqual(diagnostics[0]?.span, { start: 13, end: 13 })
    assert.deepEqual({ line, column }, { line: 1, column: 14 })
  })

  test('and counts from the first line and column', () => {
    const { line, column } = failure('?')
    assert.deepEqual({ line, column }, { line: 1, column: 1 })
  })
})

test('nodes know their position in the text', () => {
  const text = 'SELECT VALUE c.a + FLOOR(2) FROM c WHERE c.b IN (1, 2)'
  const { selection, where } = parseQuery(text)
  const slice = (span: { start: number; end: number }) => text.slice(span.start, span.end)
  assert.equal(selection.kind === 'value' && slice(selection.expression.span), 'c.a + FLOOR(2)')
  assert.equal(where && slice(where.span), 'c.b IN (1, 2)')
})

describe('no text takes long or overflows the stack', () => {
  const many = 100_000
  const texts: Readonly<Record<string, string>> = {
    parentheses: `SELECT VALUE ${'('.repeat(10_000)}1${')'.repeat(10_000)}`,
    'open brackets': `SELECT VALUE ${'['.repeat(many)}`,
    'open braces': `SELECT VALUE ${'{a:'.repeat(many)}`,
    NOT: `SELECT VALUE ${'NOT '.repeat(many)}1`,
    minus: `SELECT VALUE ${'- '.repeat(many)}1`,
    OR: `SELECT VALUE ${Array(many).fill('1').join(' OR ')}`,
    AND: `SELECT VALUE ${Array(many).fill('c').join(' AND ')}`,
    IN: `SELECT VALUE 1 IN (${Array(many).fill('1').join(',')})`,
    plus: `SELECT VALUE ${Array(many).fill('1').join('+')}`,
    '??': `SELECT VALUE ${Array(many).fill('1').join('??')}`,
    '?:': `SELECT VALUE ${'1?1:'.repeat(many)}1`,
    path: `SELECT VALUE c${'.a'.repeat(many)}`,
    indexes: `SELECT VALUE c${'[0]'.repeat(many)}`,
    subqueries: `SELECT VALUE ${'(SELECT VALUE '.repeat(30_000)}1`,
    'FROM subqueries': `SELECT VALUE 1 FROM ${'(SELECT VALUE 1 FROM '.repeat(20_000)}c`,
    'FROM path': `SELECT VALUE 1 FROM c${'.a'.repeat(many)}`,
    JOIN: `SELECT VALUE 1 FROM c ${'JOIN c IN c '.repeat(40_000)}`,
    LET: `SELECT VALUE ${'LET x=1 IN '.repeat(40_000)}1`,
    'a long string': `SELECT VALUE "${'a'.repeat(500_000)}"`,
    'an open string': `SELECT VALUE "${'\\n'.repeat(250_000)}`,
    'a long comment': `SELECT VALUE 1 ${'-'.repeat(500_000)}`,
    'too long a text': `SELECT VALUE "${'a'.repeat(600_000)}"`,
  }
  for (const [name, text] of Object.entries(texts)) {
    test(name, () => {
      const start = machine.monotonicMs()
      try {
        parseQuery(text)
      } catch (error) {
        assert.ok(error instanceof RequestError, String(error))
      }
      // Much less than 50 ms on an idle machine; the bound leaves room for a busy one.
      assert.ok(machine.monotonicMs() - start < 500)
    })
  }

  test('nesting is accepted up to the limit and no deeper', () => {
    const nested = (depth: number) => `SELECT VALUE ${'['.repeat(depth)}${']'.repeat(depth)}`
    parseQuery(nested(queryDepthMax - 1))
    assert.match(failure(nested(queryDepthMax + 1)).message, /nested deeper/)
  })

  test('ten thousand terms are accepted', () => {
    const { where } = parseQuery(`SELECT * FROM c WHERE ${Array(10_000).fill('c.a = 1').join(' OR ')}`)
    assert.equal(where?.kind === 'logical' && where.operands.length, 10_000)
  })
})
