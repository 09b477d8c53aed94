/** Computed properties: what queries see of them, and which definitions are refused. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Container } from '@azure/cosmos'
import { assertServiceError } from '../../support/service-error.ts'
import { startServer } from '../../support/start-server.ts'

const server = await startServer({ partitions: 2 })

const computedProperties = [
  { name: 'low', query: 'SELECT VALUE LOWER(c.name) FROM c' },
  { name: 'price', query: 'SELECT VALUE {net: p.net, gross: p["net"] * 2} FROM products p' },
  { name: 'low2', query: 'SELECT VALUE UPPER(c.low2) FROM c' },
]

async function fill(): Promise<Container> {
  const container = await server.newContainer({ computedProperties })
  const names = ['Beta', 'ALPHA', 'gamma', 'alpha', undefined]
  for (const [at, name] of names.entries()) {
    await container.items.create({ id: `i${at}`, pk: `p${at}`, name, net: at, low2: 'x', items: [{ low: 'stored' }] })
  }
  return container
}

const container = await fill()

async function rows(query: string, parameters: { name: string; value: string }[] = []): Promise<unknown[]> {
  return (await container.items.query({ query, parameters }).fetchAll()).resources
}

describe('a query sees computed properties', () => {
  const cases: readonly (readonly [query: string, rows: readonly unknown[]])[] = [
    ["SELECT VALUE c.id FROM c WHERE c.low = 'alpha' ORDER BY c.net", ['i1', 'i3']],
    ['SELECT VALUE x.id FROM root x WHERE x["low"] = "gamma"', ['i2']],
    ['SELECT c.low, c.price.gross FROM c WHERE c.id = "i2"', [{ low: 'gamma', gross: 4 }]],
    ['SELECT VALUE c.low FROM c ORDER BY c.low', ['alpha', 'alpha', 'beta', 'gamma']],
    ['SELECT VALUE c.low FROM c ORDER BY c.low DESC', ['gamma', 'beta', 'alpha', 'alpha']],
    ['SELECT VALUE MAX(c.price.gross) FROM c', [8]],
    ['SELECT VALUE COUNT(1) FROM c WHERE IS_DEFINED(c.low)', [4]],
    ['SELECT VALUE (SELECT VALUE d.low FROM d IN c.items) FROM c WHERE c.low = "beta"', ['stored']],
    ['SELECT VALUE EXISTS(SELECT VALUE 1 FROM d IN c.items WHERE c.low = "beta") FROM c WHERE c.id = "i0"', [true]],
    ['SELECT VALUE d.low FROM c JOIN (SELECT VALUE x FROM c x) AS d WHERE c.id = "i0"', []],
    // A definition sees the stored property of the same name, not itself.
    ['SELECT DISTINCT VALUE c.low2 FROM c', ['X']],
  ]
  for (const [query, expected] of cases) {
    test(query, async () => assert.deepEqual(await rows(query), expected))
  }
})

test('groups by a computed property', async () => {
  const groups = await rows('SELECT c.low AS l, COUNT(1) AS n FROM c WHERE IS_DEFINED(c.low) GROUP BY c.low')
  const sorted = (groups as { l: string; n: number }[]).sort((a, b) => (a.l < b.l ? -1 : 1))
  assert.deepEqual(sorted, [
    { l: 'alpha', n: 2 },
    { l: 'beta', n: 1 },
    { l: 'gamma', n: 1 },
  ])
})

test('SELECT * and whole items do not have them', async () => {
  for (const query of ['SELECT * FROM c WHERE c.low = "beta"', 'SELECT VALUE c FROM c WHERE c.low = "beta"']) {
    const [item] = (await rows(query)) as { low?: string }[]
    assert.equal(item!.low, undefined)
  }
})

test('a replaced definition counts at once, and none after it is removed', async () => {
  const other = await fill()
  const { resource } = await other.read()
  const ask = async () => (await other.items.query("SELECT VALUE c.low FROM c WHERE c.id = 'i0'").fetchAll()).resources
  assert.deepEqual(await ask(), ['beta'])
  const query = 'SELECT VALUE UPPER(c.name) FROM c'
  await other.replace({ ...(resource as { id: string }), computedProperties: [{ name: 'low', query }] } as never)
  assert.deepEqual(await ask(), ['BETA'])
  const { computedProperties: _, ...without } = resource as unknown as Record<string, unknown>
  await other.replace(without as never)
  assert.deepEqual(await ask(), [])
})

describe('a definition is refused', () => {
  const refused: readonly (readonly [query: string, message: string | RegExp])[] = [
    // azure-cosmos-dotnet-v3, ContainerNegativeComputedPropertyTest.
    [
      'SELECT LOWER(c.name) FROM c',
      "Required VALUE expression missing from computed property query 'SELECT LOWER(c.name) FROM c' at index (0).",
    ],
    [
      'SELECT LOWER(c.name) FROM r',
      "Computed property at index (0) has a malformed query: 'SELECT LOWER(c.name) FROM r' Error details: " +
        `'{"errors":[{"severity":"Error","code":2001,"message":"Identifier 'c' could not be resolved."}]}'`,
    ],
    // INFERRED: documented as refused; the service's texts are not known.
    ['SELECT VALUE 1', /^FROM with nothing but the item itself is required/],
    ['SELECT VALUE x FROM x IN c.list', /^FROM with nothing but/],
    ['SELECT VALUE x FROM c JOIN x IN c.list', /^FROM with nothing but/],
    ['SELECT VALUE c.a FROM c WHERE c.b', /^WHERE is not allowed/],
    ['SELECT VALUE c.a FROM c ORDER BY c.b', /^ORDER BY is not allowed/],
    ['SELECT TOP 1 VALUE c.a FROM c', /^TOP is not allowed/],
    ['SELECT DISTINCT VALUE c.a FROM c', /^DISTINCT is not allowed/],
    ['SELECT VALUE COUNT(c.a) FROM c', /^An aggregate function is not allowed/],
    ['SELECT VALUE (SELECT VALUE 1) FROM c', /^A subquery is not allowed/],
    ['SELECT VALUE udf.f(c.a) FROM c', /^A user-defined function is not allowed/],
    ['SELECT VALUE GetCurrentTimestamp() FROM c', /^The function GETCURRENTTIMESTAMP is not allowed/],
    ['SELECT VALUE ST_ISVALID(c.a) FROM c', /^The function ST_ISVALID is not allowed/],
    ['SELECT VALUE @a FROM c', /malformed query.*Identifier '@a' could not be resolved/],
    ['SELECT VALUE FROM', /malformed query.*"code":1001/],
  ]
  for (const [query, expected] of refused) {
    test(query, async () => {
      const { id } = await server.newDatabase()
      const body = {
        id: 'c',
        partitionKey: { paths: ['/pk'], kind: 'Hash' },
        computedProperties: [{ name: 'x', query }],
      }
      const answer = await server.send({ method: 'POST', path: `/dbs/${id}/colls`, body })
      const message = assertServiceError(answer, 400)
      if (typeof expected === 'string') assert.equal(message, expected)
      else assert.match(message, expected)
    })
  }
})
