/** Queries that are wrong or hostile: each is refused with a reason, and the server keeps serving others. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Container } from '@azure/cosmos'
import { queryStepsMax } from '../../src/base/limits.ts'
import { queryTextBytesMax } from '../../src/sql/syntax/parser.ts'
import { queryTokensMax } from '../../src/sql/syntax/token-stream.ts'
import { queryGroupsMax, queryJoinRowsMax } from '../../src/sql/values/run-context.ts'
import type { RawAnswer } from '../support/signed-request.ts'
import { pathOf, startServer } from '../support/start-server.ts'
import { ask, type Headers, sendQuery } from './ask.ts'

const server = await startServer({ partitions: 5 })

const big = 'ab'.repeat(100_000)

/** One item in each of seven partitions; the first has large values. */
async function fill(): Promise<Container> {
  const container = await server.newContainer()
  for (let at = 0; at < 7; at++) await container.items.create({ id: `i${at}`, pk: `p${at}`, n: at, s: `text ${at}` })
  const list = Array.from({ length: 1100 }, (_, at) => at)
  await container.items.create({
    id: 'big',
    pk: 'big',
    big,
    list,
    same: 'a'.repeat(300_000),
    short: list.slice(0, 500),
  })
  return container
}

const container = await fill()
const point = partition('big')

function partition(pk: string): Headers {
  return { 'x-ms-documentdb-partitionkeyrangeid': undefined, 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) }
}

/** The text of the error inside the service's wrapping. */
function errorOf(answer: RawAnswer): string {
  assert.equal(answer.status, 400, answer.text.slice(0, 1000))
  assert.equal(answer.json.code, 'BadRequest')
  return textOf(answer)
}

function textOf(answer: RawAnswer): string {
  assert.ok(answer.text.length < 20_000, 'an error does not repeat what was sent')
  const [, errors] = /^Message: (\{.*\})\r\nActivityId: /s.exec(answer.json.message) ?? assert.fail(answer.text)
  JSON.parse(errors!)
  return errors!
}

async function refusal(query: unknown, options?: { headers?: Headers; parameters?: unknown }): Promise<string> {
  return errorOf(await sendQuery(server, container, query, options))
}

/** Another client, with a small request. */
async function assertAlive(): Promise<void> {
  const { rows } = await ask(server, container, 'SELECT VALUE c.n FROM c', partition('p3'))
  assert.deepEqual(rows, [3])
}

describe('a syntax error gives its position', () => {
  const cases: readonly (readonly [query: string, code: string, start: number, end: number])[] = [
    ['SELECT * FROM c WHERE', 'SC1001', 21, 21],
    ['SELECT * FROM c WHERE c.a = = 1', 'SC1001', 28, 29],
    ['SELEC * FROM c', 'SC1001', 0, 5],
    ['SELECT * FROM c\nWHERE c.a ?', 'SC1001', 27, 27],
    ['SELECT VALUE "open', 'SC1010', 13, 18],
    ['SELECT VALUE nosuch(1)', 'SC2005', 13, 19],
    ['SELECT VALUE d.x FROM c', 'SC2001', 13, 14],
    ['SELECT VALUE @missing', 'SC2001', 13, 21],
    ['SELECT VALUE "😀" FROM c WHERE ]', 'SC1001', 31, 32],
  ]
  for (const [query, code, start, end] of cases) {
    test(JSON.stringify(query), async () => {
      const { errors } = JSON.parse(await refusal(query))
      assert.equal(errors[0].severity, 'Error')
      assert.equal(errors[0].code, code)
      assert.deepEqual(errors[0].location, { start, end })
    })
  }
})

describe('a body that is not a query is refused', () => {
  const cases: readonly (readonly [name: string, query: unknown, parameters?: unknown])[] = [
    ['without text', undefined],
    ['a number', 5],
    ['null', null],
    ['a list', ['SELECT 1']],
    ['parameters that are not a list', 'SELECT 1', { '@p': 1 }],
    ['a parameter without a name', 'SELECT 1', [{ value: 1 }]],
    ['a parameter without its sign', 'SELECT 1', [{ name: 'p', value: 1 }]],
    ['a parameter that is null', 'SELECT 1', [null]],
  ]
  for (const [name, query, parameters] of cases) {
    test(name, async () => {
      await refusal(query, parameters === undefined ? {} : { parameters })
      await assertAlive()
    })
  }

  test('a body that is not JSON', async () => {
    for (const body of ['', 'SELECT 1', '[', '"SELECT 1"', '{"query":"SELECT 1"', Buffer.from([0xff, 0xfe])]) {
      const headers = { 'x-ms-documentdb-isquery': 'true', 'x-ms-documentdb-partitionkeyrangeid': '0' }
      const answer = await server.send({ method: 'POST', path: pathOf(container, 'docs'), headers, body })
      assert.equal(answer.status, 400, answer.text)
    }
    await assertAlive()
  })
})

describe('a query above a limit is refused, and the error names the limit', () => {
  const depth = 10_000
  const many = 100_000
  const cases: readonly (readonly [name: string, query: string, text: RegExp])[] = [
    ['10,000 parentheses', `SELECT VALUE ${'('.repeat(depth)}1${')'.repeat(depth)}`, /deep|nest/i],
    ['10,000 brackets', `SELECT VALUE ${'['.repeat(depth)}1${']'.repeat(depth)}`, /deep|nest/i],
    ['10,000 NOTs', `SELECT VALUE ${'NOT '.repeat(depth)}true`, /deep|nest/i],
    ['10,000 minus signs', `SELECT VALUE ${'- '.repeat(depth)}1`, /deep|nest/i],
    ['10,000 steps of a path', `SELECT VALUE c${'.a'.repeat(depth)} FROM c`, /deep|nest/i],
    ['10,000 additions', `SELECT VALUE 1${' + 1'.repeat(depth)}`, /deep|nest/i],
    ['10,000 subqueries', `SELECT VALUE ${'(SELECT VALUE '.repeat(depth)}1${')'.repeat(depth)}`, /deep|nest/i],
    [
      '100,000 ORs of numbers',
      `SELECT VALUE c.id FROM c WHERE ${Array(many).fill('1').join('OR ')}`,
      new RegExp(String(queryTokensMax)),
    ],
    [
      '100,000 values in IN',
      `SELECT VALUE c.id FROM c WHERE c.n IN (${Array(many).fill('1').join(',')})`,
      new RegExp(String(queryTokensMax)),
    ],
    ['100,000 properties', `SELECT VALUE {${Array(many).fill('a:1').join(',')}}`, new RegExp(String(queryTokensMax))],
    [
      '11 JOINs',
      `SELECT VALUE 1 FROM c ${Array.from({ length: 11 }, (_, at) => `JOIN x${at} IN c.list`).join(' ')}`,
      /at most 10 JOINs/,
    ],
    [
      '65 group keys',
      `SELECT VALUE 1 FROM c GROUP BY ${Array.from({ length: 65 }, (_, at) => `c.a${at}`).join(', ')}`,
      /at most 64 keys/,
    ],
    ['TOP beyond 32 bits', 'SELECT TOP 4294967296 VALUE c.id FROM c', /SC2060/],
    ['OFFSET below zero', 'SELECT VALUE c.id FROM c OFFSET -1 LIMIT 1', /SC1001|SC2062/],
  ]
  for (const [name, query, text] of cases) {
    test(name, async () => {
      assert.match(await refusal(query), text)
      await assertAlive()
    })
  }

  const long = [
    `SELECT VALUE "${'x'.repeat(600 * 1024)}"`,
    `SELECT VALUE${' '.repeat(600 * 1024)}1`,
    `SELECT VALUE c.id FROM c WHERE ${Array(many).fill('c.a = 1').join(' OR ')}`,
  ]
  test('a text of 600 KB is too long', async () => {
    for (const query of long) {
      const answer = await sendQuery(server, container, query)
      assert.equal(answer.status, 413)
      assert.match(textOf(answer), new RegExp(`longer than ${queryTextBytesMax} bytes`))
    }
    await assertAlive()
  })

  test('many such queries at once, and a small one among them', async () => {
    const refused = cases.map(([, query]) => refusal(query))
    const answered = ask(server, container, 'SELECT VALUE c.n FROM c WHERE c.id = "i1"', partition('p1'))
    assert.deepEqual((await answered).rows, [1])
    await Promise.all(refused)
  })

  test('a query just below the limits is answered', async () => {
    const terms = Array.from({ length: 5000 }, (_, at) => `c.n = ${at + 100}`)
    const { rows } = await ask(
      server,
      container,
      `SELECT VALUE c.n FROM c WHERE ${terms.join(' OR ')} OR c.n = 1`,
      partition('p1'),
    )
    assert.deepEqual(rows, [1])
    const numbers = Array.from({ length: 30_000 }, (_, at) => at)
    const among = await ask(server, container, `SELECT VALUE c.n FROM c WHERE c.n IN (${numbers})`, partition('p1'))
    assert.deepEqual(among.rows, [1])
  })
})

describe('patterns that overload other engines', () => {
  /** Each is answered or refused; none keeps the server from the next request. */
  const answered: readonly (readonly [name: string, expression: string, row: unknown])[] = [
    ['nested repetition', 'REGEXMATCH(c.big, "(a+b+)+$")', true],
    ['nested repetition without a match', 'REGEXMATCH(c.same, "(a+)+b")', false],
    ['alternatives that overlap', 'REGEXMATCH(c.same, "(a|a|aa)+b")', false],
    ['optional letters', 'REGEXMATCH(LEFT(c.same, 1000), "(a?){500}a{500}")', true],
    ['many stars', 'REGEXMATCH(c.same, "^.*.*.*.*.*.*.*.*=$")', false],
    ['a repetition that is too large', 'REGEXMATCH(c.same, "a{1,100000}") ?? "undefined"', 'undefined'],
    ['many percent signs', `c.same LIKE '${'%a'.repeat(1000)}%'`, true],
    ['many percent signs without a match', `c.same LIKE '${'%a'.repeat(1000)}%b'`, false],
    ['underscores', `c.same LIKE '${'_'.repeat(1000)}'`, false],
    // The engine's own search would take half a minute, and minutes for the largest item.
    [
      'a text that matches up to its middle',
      'CONTAINS(c.same, CONCAT(LEFT(c.same, 100000), "b", LEFT(c.same, 100000)))',
      false,
    ],
    [
      'the same, searched backwards',
      'LASTINDEXOF(c.same, CONCAT(LEFT(c.same, 100000), "b", LEFT(c.same, 100000)))',
      -1,
    ],
    [
      'the same, in REPLACE',
      'LENGTH(REPLACE(c.same, CONCAT(LEFT(c.same, 100000), "b", LEFT(c.same, 100000)), ""))',
      300_000,
    ],
    ['letters to be trimmed', 'LENGTH(TRIM(c.same, c.big))', 0],
  ]
  for (const [name, expression, row] of answered) {
    test(name, async () => {
      assert.deepEqual((await ask(server, container, `SELECT VALUE ${expression} FROM c`, point)).rows, [row])
    })
  }

  const refused: readonly (readonly [name: string, expression: string])[] = [
    ['a long run between percent signs', `c.same LIKE '%${'a'.repeat(5000)}b%'`],
    ['a long run of sets', `c.same LIKE '%${'[a-z]'.repeat(3000)}!%'`],
    [
      'many such patterns, each of them small',
      Array(300)
        .fill(`c.same LIKE '%${'a'.repeat(10)}b%'`)
        .join(' OR '),
    ],
    ['an automaton of a thousand states', 'REGEXMATCH(c.big, "(a|b)*a(a|b){900}c")'],
    [
      'a list searched many times',
      `ARRAY_CONTAINS_ANY(ARRAY_CONCAT(c.list, c.list), ${Array.from({ length: 25_000 }, (_, at) => at + 2000)})`,
    ],
  ]
  for (const [name, expression] of refused) {
    test(`${name} is refused`, async () => {
      const errors = await refusal(`SELECT VALUE ${expression} FROM c`, { headers: point })
      assert.match(errors, new RegExp(`more than ${queryStepsMax} steps for one item`))
      await assertAlive()
    })
  }

  test('every match may read the whole rest, so time bounds their number', async () => {
    const query = 'SELECT VALUE REGEXEXTRACTALL(c.big, "(a|b)*?c|a") FROM c'
    const answer = await sendQuery(server, container, query, { headers: point })
    assert.equal(answer.status, 408)
    const errors = textOf(answer)
    assert.match(errors, /works for more than \d+ milliseconds on one item/)
    await assertAlive()
  })
})

describe('queries that explode', () => {
  const doublings = Array.from({ length: 39 }, (_, at) => `LET v${at + 1} = [v${at}, v${at}] IN `).join('')
  const refused: readonly (readonly [name: string, query: string, text: RegExp])[] = [
    [
      'a product of lists',
      'SELECT VALUE COUNT(1) FROM c JOIN x IN c.list JOIN y IN c.list',
      new RegExp(`JOINs of the query make more than ${queryJoinRowsMax} rows`),
    ],
    ['the end of one', 'SELECT VALUE x FROM c JOIN x IN c.list JOIN y IN c.list WHERE x = 1099 AND y = 1099', /JOINs/],
    [
      'nested subqueries',
      'SELECT VALUE ARRAY(SELECT VALUE (SELECT VALUE COUNT(1) FROM y IN c.list JOIN z IN c.list) FROM x IN ' +
        'c.list) FROM c',
      /more than \d+ rows/,
    ],
    [
      'more groups than allowed',
      'SELECT COUNT(1) AS n FROM c JOIN x IN c.list JOIN y IN c.short GROUP BY x, y',
      new RegExp(`more than ${queryGroupsMax} groups`),
    ],
    [
      'a string that doubles',
      `SELECT VALUE ${'CONCAT('.repeat(60)}c.big${', c.big)'.repeat(60)} FROM c`,
      /string longer than/,
    ],
    [
      'a value made of copies of itself',
      `SELECT VALUE LET v0 = [c.big, c.big] IN ${doublings}v39 FROM c`,
      /large|bytes|size/i,
    ],
  ]
  for (const [name, query, text] of refused) {
    test(`${name}`, async () => {
      assert.match(await refusal(query, { headers: point }), text)
      await assertAlive()
    })
  }

  test('other clients are answered while a long query runs', async () => {
    const crowd = await server.newContainer()
    const list = Array.from({ length: 40 }, (_, at) => at)
    await Promise.all(Array.from({ length: 400 }, (_, at) => crowd.items.create({ id: `${at}`, pk: 'big', list })))
    const order: string[] = []
    const long = sendQuery(
      server,
      crowd,
      'SELECT VALUE COUNT(1) FROM c JOIN x IN c.list JOIN y IN c.list WHERE x + y > 5',
      {
        headers: point,
      },
    ).then(answer => {
      order.push('long')
      return answer
    })
    for (let at = 0; at < 5; at++) {
      await assertAlive()
      order.push('short')
    }
    assert.equal((await long).json.Documents[0] > 600_000, true)
    assert.deepEqual(order.slice(0, 5), Array(5).fill('short'))
  })
})

describe('an invalid page size', () => {
  for (const count of ['0', '-2', '1.5', 'ten', 'NaN', 'Infinity', '0x']) {
    test(JSON.stringify(count), async () => {
      assert.match(
        await refusal('SELECT VALUE c.id FROM c', { headers: { 'x-ms-max-item-count': count } }),
        /x-ms-max-item-count/,
      )
    })
  }
  test('may be too large, or left to the server', async () => {
    for (const count of ['-1', '1000', '100000', '2147483648']) {
      assert.equal(
        (await ask(server, container, 'SELECT VALUE c.id FROM c', { 'x-ms-max-item-count': count })).continuation,
        undefined,
      )
    }
  })
})
