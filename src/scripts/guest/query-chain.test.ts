import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { MemoryScriptHost, testLinks } from '../../../test/support/memory-script-host.ts'
import { runStoredProcedure } from '../../../test/support/run-script.ts'
import { ScriptRunner } from '../script-runner.ts'

const runner = new ScriptRunner()
after(() => runner[Symbol.asyncDispose]())

async function execute(body: string, host: MemoryScriptHost, args: readonly unknown[] = []): Promise<unknown> {
  const run = { id: 'proc', body, links: testLinks, host, epochMs: 0, args: JSON.stringify(args) }
  return JSON.parse((await runStoredProcedure(runner, run)).body)
}

const families = [
  {
    id: '1',
    name: 'Alex',
    age: 40,
    kids: [
      { name: 'Bob', pets: ['Chucky', 'Chauncey'] },
      { name: 'Bill', pets: [] },
    ],
  },
  { id: '2', name: 'Zoe', age: 30, kids: [{ name: 'Barbara', pets: ['Curly'] }] },
  { id: '3', name: 'Mia', age: 20, kids: [] },
]

describe('functions in a chain', () => {
  const cases: readonly [chain: string, expected: unknown][] = [
    ['.filter(d => d.age < 35).map(d => d.name)', ['Zoe', 'Mia']],
    ['.pluck("age")', [40, 30, 20]],
    ['.sortBy(d => d.age).pluck("id")', ['3', '2', '1']],
    ['.sortByDescending(d => d.name).map(d => d.name)', ['Zoe', 'Mia', 'Alex']],
    ['.map(d => d.kids.map(k => k.pets)).flatten()', ['Chucky', 'Chauncey', 'Curly']],
    ['.map(d => d.kids.map(k => k.pets)).flatten(true)', [['Chucky', 'Chauncey'], [], ['Curly']]],
    ['.unwind(d => d.kids).pluck("name")', ['Bob', 'Bill', 'Barbara']],
    [
      '.unwind(d => d.kids, (d, k) => ({ d, k })).unwind(x => x.k.pets, (x, p) => [x.d.name, x.k.name, p])',
      [
        ['Alex', 'Bob', 'Chucky'],
        ['Alex', 'Bob', 'Chauncey'],
        ['Zoe', 'Barbara', 'Curly'],
      ],
    ],
    ['.map(d => d.age).sortBy(a => a === 30 ? undefined : a === 20 ? "x" : null)', [30, 40, 20]],
    ['.filter(() => false)', []],
  ]
  for (const [chain, expected] of cases) {
    test(chain, async () => {
      const body =
        `() => { const r = __.chain()${chain}.value((e, feed, o) => __.response.setBody([feed, o])); if ` +
        '(!r.isAccepted) throw 1 }'
      assert.deepEqual(await execute(body, new MemoryScriptHost(families)), [expected, {}])
    })
  }

  test('single functions are queries too, with or without the collection', async () => {
    const body = `() => __.filter(getContext().getCollection(), d => d.id === '2', {}, (e, a) =>
      __.pluck('id', (e, b) => __.sortBy(d => d.age, { pageSize: 2 }, (e, c) =>
        __.response.setBody([a[0].name, b, c.map(d => d.id)]))))`
    assert.deepEqual(await execute(body, new MemoryScriptHost(families)), ['Zoe', ['1', '2', '3'], ['3', '2']])
  })

  test('without a callback the result is appended to the response, and an error ends the script', async () => {
    const host = new MemoryScriptHost(families)
    assert.equal(await execute('() => { __.chain().pluck("id").value() }', host), '["1","2","3"]')
    await assert.rejects(execute('() => { __.map(d => d.none.none) }', host), /TypeError: cannot read property/)
  })

  test('an error in a function goes to the callback', async () => {
    const body =
      '() => { __.map(d => { throw new Error(7, "x") }, (e, feed) => __.response.setBody([e.number, feed === ' +
      'undefined])) }'
    assert.deepEqual(await execute(body, new MemoryScriptHost(families)), [7, true])
  })

  const wrong: readonly [call: string, message: string][] = [
    ['__.filter()', 'The predicate/transform function must be provided.'],
    ['__.pluck(5)', 'The property name must be a string and cannot be empty.'],
    ['__.unwind()', 'When using "unwind", "collectionSelector" must be used.'],
    ['__.unwind({})', 'When using "unwind", "collectionSelector" must be a function.'],
    ['__.unwind((a, b) => a)', '"collectionSelector" requires one argument.'],
    ['__.unwind(a => a, b => b)', '"resultSelector" requires two arguments.'],
    [
      '__.chain().map(d => d, {})',
      'When using "chain", options can only be provided on the call to the "value" function',
    ],
    [
      '__.chain().map(d => d, () => 1)',
      'When using "chain", the callback parameter can only be provided on the "value" function.',
    ],
    ['__.filter(d => d, { continuation: "{" })', 'The continuation token is not one of this function.'],
  ]
  for (const [call, message] of wrong) {
    test(`${call} is refused`, async () => {
      const body = `() => { try { ${call} } catch (error) { __.response.setBody([error.number, error.message]) } }`
      assert.deepEqual(await execute(body, new MemoryScriptHost()), [400, message])
    })
  }
})

describe('pages', () => {
  const many = Array.from({ length: 1250 }, (_, n) => ({ id: String(n), n }))
  const page = (chain: string, pageSize: number) =>
    `token => __.chain()${chain}.value({ pageSize: ${pageSize}, continuation: token }, (e, feed, o) => { if (e) ` +
    'throw e; __.response.setBody([feed, o.continuation]) })'

  async function pages(chain: string, pageSize: number): Promise<unknown[][]> {
    const host = new MemoryScriptHost(many)
    const all: unknown[][] = []
    for (let token: string | undefined = ''; token !== undefined; ) {
      const [feed, next] = (await execute(page(chain, pageSize), host, [token])) as [unknown[], string | null]
      all.push(feed)
      token = next ?? undefined
    }
    return all
  }

  const cases: readonly [chain: string, pageSize: number, expected: unknown[]][] = [
    ['.pluck("n")', 500, many.map(({ n }) => n)],
    ['.filter(d => d.n % 100 === 7).pluck("n")', 5, Array.from({ length: 13 }, (_, n) => n * 100 + 7)],
    [
      '.unwind(d => d.n % 50 === 0 ? [1, 2, 3] : [], (d, x) => [d.n, x])',
      7,
      Array.from({ length: 25 }, (_, n) => [1, 2, 3].map(x => [n * 50, x])).flat(),
    ],
    ['.sortByDescending(d => d.n).pluck("n")', 400, many.map(({ n }) => n).reverse()],
  ]
  for (const [chain, pageSize, expected] of cases) {
    test(`${chain} in pages of ${pageSize}`, async () => {
      const found = await pages(chain, pageSize)
      assert.deepEqual(found.flat(), expected)
      for (const feed of found.slice(0, -1)) assert.equal(feed.length, pageSize)
    })
  }
})
