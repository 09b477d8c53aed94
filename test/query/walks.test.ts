/**
 * Walks over the pages of a query while other items are written, die and are swept, and indexes come and go.
 * An item that lives throughout is in the result exactly once and in order, and no page has an item that is
 * dead at its moment.
 *
 * MAYFLY_SEED, MAYFLY_PATH and MAYFLY_QUERY_RUNS work as in metamorphic.test.ts.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestError } from '../../src/base/error.ts'
import { textOf } from '../../src/document/body.ts'
import { prepareQuery } from '../../src/sql/prepare.ts'
import { canonicalKey } from '../../src/sql/values/compare.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { fc, isReplay } from '../support/property.ts'
import { type Components, type Item, QueryWorld, reference } from './fixture.ts'
import { indexSets, items, parameters, partitionKeys, printQuery, properties, walkQueries } from './random-query.ts'

const { MAYFLY_QUERY_RUNS } = process.env

type Step =
  | { readonly kind: 'put'; readonly id: string; readonly properties: object; readonly ttl: number | undefined }
  | { readonly kind: 'delete'; readonly id: string }
  | { readonly kind: 'advance'; readonly seconds: number }
  | { readonly kind: 'sweep'; readonly rowsMax: number }
  | { readonly kind: 'begin' | 'build' | 'drop'; readonly index: number }

/** Only m0 to m9 die or change. Nothing touches the others, i0 and so on. */
const mortalId = fc.nat(9).map(at => `m${at}`)
const ttl = fc.option(fc.integer({ min: 1, max: 5 }), { nil: undefined })

const kind = <const Kind extends Step['kind']>(...names: Kind[]) => fc.constantFrom(...names)

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 20, arbitrary: fc.record({ kind: kind('put'), id: mortalId, properties, ttl }) },
  { weight: 10, arbitrary: fc.record({ kind: kind('delete'), id: mortalId }) },
  { weight: 10, arbitrary: fc.record({ kind: kind('advance'), seconds: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 5, arbitrary: fc.record({ kind: kind('sweep'), rowsMax: fc.integer({ min: 1, max: 10 }) }) },
  { weight: 10, arbitrary: fc.record({ kind: kind('begin', 'build', 'build'), index: fc.nat(5) }) },
  // An index that is dropped ends a walk along it.
  { weight: 1, arbitrary: fc.record({ kind: kind('drop'), index: fc.nat(5) }) },
)

/** The world, and the facts that must hold in it. */
class Walk {
  readonly world: QueryWorld
  readonly #indexes: readonly Components[]
  readonly #present = new Map<string, { readonly item: Item; readonly deadline: number }>()

  constructor(world: QueryWorld, indexes: readonly Components[]) {
    this.world = world
    this.#indexes = indexes
  }

  living(): SqlValue[] {
    const now = this.world.clock.now()
    const alive = [...this.#present.values()].filter(({ deadline }) => deadline > now)
    return alive.map(({ item }) => item as unknown as SqlValue)
  }

  async put(item: Item): Promise<void> {
    await this.world.put(item)
    const deadline = item.ttl === undefined ? Number.POSITIVE_INFINITY : this.world.clock.now() + item.ttl
    this.#present.set(item.id, { item, deadline })
  }

  async take(step: Step): Promise<void> {
    const { world } = this
    if (step.kind === 'put') {
      const { id, properties: rest, ttl: seconds } = step
      await this.put({ id, pk: pkOf(id), ...rest, ...(seconds === undefined ? {} : { ttl: seconds }) })
    } else if (step.kind === 'delete') {
      const isAlive = this.living().some(item => (item as { id: string }).id === step.id)
      if (isAlive) await world.delete({ id: step.id, pk: pkOf(step.id) })
      this.#present.delete(step.id)
    } else if (step.kind === 'advance') {
      world.clock.advance(step.seconds)
    } else if (step.kind === 'sweep') {
      await world.sweep(step.rowsMax)
    } else if (step.kind === 'begin') {
      const components = this.#indexes[step.index % this.#indexes.length]!
      if ((await world.container()).indexes.length < 6) await world.beginIndex(components)
    } else {
      const { indexes } = await world.container()
      const number = indexes[step.index % Math.max(1, indexes.length)]?.definition.number
      if (number === undefined) return
      if (step.kind === 'build') await world.buildStep(number, 7)
      else await world.dropIndex(number)
    }
  }
}

function pkOf(id: string) {
  return partitionKeys[Number(id.slice(1)) % partitionKeys.length]!
}

test('a walk gives every item that lives throughout once, in order, and no dead item', async () => {
  const met = { pages: 0, indexed: 0, broken: 0, deaths: 0 }
  const property = fc.asyncProperty(
    items(10),
    fc.array(fc.tuple(mortalId, properties, ttl), { maxLength: 10 }),
    indexSets,
    fc.constantFrom(true, true, false),
    walkQueries,
    fc.integer({ min: 1, max: 3 }),
    fc.array(fc.array(step, { maxLength: 4 }), { maxLength: 12 }),
    async (lifelong, mortals, indexes, isIndexed, query, rowsMax, script) => {
      await using world = await QueryWorld.make({ defaultTtl: -1 })
      const walk = new Walk(world, indexes)
      for (const item of lifelong) await walk.put(item)
      for (const [id, rest, seconds] of mortals) await walk.take({ kind: 'put', id, properties: rest, ttl: seconds })
      if (isIndexed) for (const components of indexes) await world.index(components)

      const prepared = prepareQuery(printQuery(query))
      const walked: SqlValue[] = []
      let at = 0
      try {
        for await (const page of world.pages(prepared, { parameters, rowsMax })) {
          const rows = page.rows.map(row => JSON.parse(textOf(row)) as SqlValue)
          const living = walk.living()
          assertAmong(rows, reference(prepared, living, { parameters }))
          walked.push(...rows)
          met.pages++
          if (page.indexUse.used.length > 0) met.indexed++
          for (const each of script[at++] ?? []) await walk.take(each)
          met.deaths += Math.max(0, living.length - walk.living().length)
        }
      } catch (error) {
        const isRefusal = error instanceof RequestError && error.message.startsWith('Invalid Continuation Token')
        if (!isRefusal) throw error
        met.broken++
        return
      }
      const own = new Set(lifelong.map(({ id }) => id))
      const given = walked.filter(row => own.has((row as string[])[0]!)).map(canonicalKey)
      const isReverse = query.orderBy[0]?.isDescending === true
      const source = (isReverse ? lifelong.toReversed() : lifelong) as unknown as SqlValue[]
      const expected = reference(prepared, source, { parameters }).map(canonicalKey)
      // Without an order any will do; equal order keys of distinct rows are ordered by the rows.
      const isExact = query.orderBy.length > 0 && !query.isDistinct
      assert.deepEqual(isExact ? given : given.sort(), isExact ? expected : expected.sort(), prepared.text)
    },
  )
  await fc.assert(property, {
    numRuns: MAYFLY_QUERY_RUNS === undefined ? 800 : Number(MAYFLY_QUERY_RUNS),
  })
  // A walk during which nothing happens proves nothing.
  if (!isReplay) {
    assert.ok(met.indexed > 200 && met.pages > met.indexed && met.deaths > 100, JSON.stringify(met))
    assert.ok(met.broken < met.pages / 50, JSON.stringify(met))
  }
})

function assertAmong(rows: readonly SqlValue[], allowed: readonly SqlValue[]): void {
  const texts = new Set(allowed.map(canonicalKey))
  for (const row of rows) assert.ok(texts.has(canonicalKey(row)), `${JSON.stringify(row)} is on a page and not alive`)
}
