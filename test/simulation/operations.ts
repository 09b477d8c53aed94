/** The operations on a container, as plain data: fast-check makes, shrinks and prints them. */

import { ttlSecondsMax } from '../../src/ttl/lifespan.ts'
import { fc } from '../support/property.ts'

/**
 * The version that a conditional write names: the newest of the key (even if that item is dead), the oldest,
 * or an unknown one.
 */
export type Condition = 'none' | 'newest' | 'oldest' | 'unknown'

/** The properties that indexes read. */
export interface Content {
  readonly n?: number | string
  readonly tags?: readonly number[]
}

export interface Write {
  readonly op: 'create' | 'replace' | 'upsert' | 'delete'
  readonly key: number
  readonly ttl: number | undefined
  readonly condition: Condition
  readonly bodyChars: number
  readonly content: Content
}

/** Operations that can run at the same time as others. */
export type Step =
  | Write
  | { readonly op: 'read'; readonly key: number }
  | { readonly op: 'default'; readonly defaultTtl: number | null }
  | { readonly op: 'sweep'; readonly rowsMax: number }

export interface Page {
  readonly op: 'page'
  readonly cursor: number
  readonly isNew: boolean
  readonly range: number
  readonly itemsMax: number
  readonly bytesMax: number
}

export type Operation =
  /** Sent in one turn of the event loop. Time may pass before the turn ends, and its commit may fail. */
  | { readonly op: 'together'; readonly steps: readonly Step[]; readonly advanceMs: number; readonly isLost: boolean }
  | Page
  /** All of them or none. */
  | { readonly op: 'transact'; readonly writes: readonly Write[] }
  | { readonly op: 'advance'; readonly ms: number }
  /** Sets the wall clock; the monotonic one does not change. */
  | { readonly op: 'set wall'; readonly byMs: number }
  | { readonly op: 'look' }
  | { readonly op: 'survey'; readonly after: number; readonly seconds: number; readonly defaultTtl: number | null }
  | { readonly op: 'reopen'; readonly isCrash: boolean; readonly wallByMs: number; readonly underWay: readonly Write[] }
  | { readonly op: 'create index'; readonly path: number }
  | { readonly op: 'build index'; readonly rowsMax: number }
  | { readonly op: 'drop index' }
  | { readonly op: 'scan index'; readonly range: number; readonly isReverse: boolean; readonly itemsMax: number }
  | { readonly op: 'recreate'; readonly defaultTtl: number | null }
  | { readonly op: 'reclaim'; readonly rowsMax: number }

export const keyCount = 12
export const cursorCount = 3
export const rangeCount = 5
export const pathCount = 3

const key = fc.nat({ max: keyCount - 1 })
const seconds = fc.oneof({ arbitrary: fc.integer({ min: 1, max: 6 }), weight: 20 }, fc.constant(ttlSecondsMax))
const ttl = fc.oneof({ arbitrary: seconds, weight: 3 }, fc.constant(-1), {
  arbitrary: fc.constant(undefined),
  weight: 3,
})
export const defaultTtl = fc.oneof({ arbitrary: seconds, weight: 3 }, fc.constant(-1), fc.constant(null))

/** Mostly a few seconds, sometimes a part of one, rarely longer than any lifespan. */
const elapsedMs = fc.oneof(
  { arbitrary: fc.integer({ min: 0, max: 1500 }), weight: 4 },
  { arbitrary: fc.integer({ min: 1, max: 7 }).map(s => s * 1000), weight: 8 },
  fc.constant(ttlSecondsMax * 1000),
)

const write: fc.Arbitrary<Write> = fc.record({
  op: fc.constantFrom('create', 'create', 'replace', 'upsert', 'upsert', 'delete'),
  key,
  ttl,
  condition: fc.oneof(
    { arbitrary: fc.constant('none' as const), weight: 3 },
    fc.constantFrom('newest' as const, 'oldest' as const, 'unknown' as const),
  ),
  bodyChars: fc.nat({ max: 40 }),
  content: fc.record(
    { n: fc.constantFrom(0, 1, 2, 'a'), tags: fc.array(fc.nat({ max: 3 }), { maxLength: 3, size: 'max' }) },
    { requiredKeys: [] },
  ),
})

const step: fc.Arbitrary<Step> = fc.oneof(
  { arbitrary: write, weight: 8 },
  { arbitrary: fc.record({ op: fc.constant('read' as const), key }), weight: 2 },
  { arbitrary: fc.record({ op: fc.constant('default' as const), defaultTtl }), weight: 2 },
  {
    arbitrary: fc.record({ op: fc.constant('sweep' as const), rowsMax: fc.integer({ min: 1, max: 5 }) }),
    weight: 2,
  },
)

const steps = fc.oneof(
  { arbitrary: step.map(only => [only]), weight: 3 },
  fc.array(step, { minLength: 2, maxLength: 6, size: 'max' }),
)

const back = fc.integer({ min: 1, max: 100_000_000 }).map(ms => -ms)

const reopening: fc.Arbitrary<Operation> = fc.record({
  op: fc.constant('reopen' as const),
  isCrash: fc.boolean(),
  wallByMs: fc.oneof(fc.constant(0), back),
  underWay: fc.array(write, { maxLength: 3, size: 'max' }),
})

function operation(reopenWeight: number): fc.Arbitrary<Operation> {
  return fc.oneof(
    {
      arbitrary: fc.record({
        op: fc.constant('together' as const),
        steps,
        advanceMs: fc.oneof({ arbitrary: fc.constant(0), weight: 4 }, elapsedMs),
        isLost: fc.oneof({ arbitrary: fc.constant(false), weight: 15 }, fc.constant(true)),
      }),
      weight: 360,
    },
    {
      arbitrary: fc.record({
        op: fc.constant('page' as const),
        cursor: fc.nat({ max: cursorCount - 1 }),
        isNew: fc.boolean(),
        range: fc.nat({ max: rangeCount - 1 }),
        itemsMax: fc.integer({ min: 1, max: 5 }),
        bytesMax: fc.constant(1_000_000),
      }),
      weight: 120,
    },
    {
      arbitrary: fc.record({
        op: fc.constant('transact' as const),
        writes: fc.array(write, { minLength: 1, maxLength: 4, size: 'max' }),
      }),
      weight: 50,
    },
    { arbitrary: fc.record({ op: fc.constant('advance' as const), ms: elapsedMs }), weight: 150 },
    {
      arbitrary: fc.record({
        op: fc.constant('set wall' as const),
        byMs: fc.oneof(back, fc.integer({ min: 1, max: 5000 })),
      }),
      weight: 30,
    },
    { arbitrary: fc.record({ op: fc.constant('look' as const) }), weight: 30 },
    {
      arbitrary: fc.record({
        op: fc.constant('survey' as const),
        after: fc.integer({ min: -10, max: 5 }),
        seconds: fc.integer({ min: 3, max: 12 }),
        defaultTtl,
      }),
      weight: 60,
    },
    { arbitrary: reopening, weight: reopenWeight },
    {
      arbitrary: fc.record({ op: fc.constant('create index' as const), path: fc.nat({ max: pathCount - 1 }) }),
      weight: 20,
    },
    {
      arbitrary: fc.record({ op: fc.constant('build index' as const), rowsMax: fc.integer({ min: 1, max: 20 }) }),
      weight: 40,
    },
    { arbitrary: fc.record({ op: fc.constant('drop index' as const) }), weight: 10 },
    {
      arbitrary: fc.record({
        op: fc.constant('scan index' as const),
        range: fc.nat({ max: rangeCount - 1 }),
        isReverse: fc.boolean(),
        itemsMax: fc.integer({ min: 1, max: 5 }),
      }),
      weight: 40,
    },
    { arbitrary: fc.record({ op: fc.constant('recreate' as const), defaultTtl }), weight: 10 },
    {
      arbitrary: fc.record({ op: fc.constant('reclaim' as const), rowsMax: fc.integer({ min: 1, max: 5 }) }),
      weight: 10,
    },
  )
}

/** The longest history, and how often the store is reopened: 10 means once in a hundred operations. */
export interface Course {
  readonly lengthMax: number
  readonly reopenWeight: number
}

export function histories({ lengthMax, reopenWeight }: Course): fc.Arbitrary<Operation[]> {
  return fc.array(operation(reopenWeight), { minLength: 1, maxLength: lengthMax, size: 'max' })
}
