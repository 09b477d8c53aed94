/**
 * What a write comes to, as a table of cases: the rule itself (`verdict.test.ts`) and each adapter run the
 * same ones.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { textOf } from '../../src/document/body.ts'
import type { ContainerRecord, IndexDraft } from '../../src/store/catalog.ts'
import type { Store } from '../../src/store/port.ts'
import type { ItemChange, ItemWrite, Step, StepAnswer, WriteAnswer } from '../../src/store/writing.ts'
import { newPolicy } from '../../src/ttl/lifespan.ts'
import { put } from '../support/item-write.ts'
import { keyOf, type Opener } from './store-contract.ts'

type Kind = ItemChange['kind']
type Outcome = WriteAnswer['outcome']

export interface VerdictCase {
  readonly present: 'nothing' | 'dead' | 'alive'
  readonly kind: Kind
  /** Whether the write names a version, and whether it is that of the item at the key. */
  readonly ifVersion: 'none' | 'same' | 'other'
  /** Who else has the unique key of the item that is written. */
  readonly holder: 'nobody' | 'dead' | 'alive'
  readonly outcome: Outcome
}

const kinds = ['create', 'replace', 'upsert', 'delete'] as const
const absent: Record<Kind, Outcome> = { create: 'created', replace: 'missing', upsert: 'created', delete: 'missing' }
const table = {
  nothing: { none: absent, other: absent },
  dead: { none: absent, same: absent, other: absent },
  alive: {
    none: { create: 'exists', replace: 'replaced', upsert: 'replaced', delete: 'deleted' },
    same: { create: 'exists', replace: 'replaced', upsert: 'replaced', delete: 'deleted' },
    other: { create: 'exists', replace: 'changed', upsert: 'changed', delete: 'changed' },
  },
} as const satisfies Record<
  VerdictCase['present'],
  Partial<Record<VerdictCase['ifVersion'], Readonly<Record<Kind, Outcome>>>>
>

/** Only a write that would leave an item behind can lose its unique key to another one. */
function withHolder(outcome: Outcome, holder: VerdictCase['holder']): Outcome {
  return holder === 'alive' && (outcome === 'created' || outcome === 'replaced') ? 'conflict' : outcome
}

export const verdictCases: readonly VerdictCase[] = Object.entries(table).flatMap(([present, byVersion]) =>
  Object.entries(byVersion).flatMap(([ifVersion, outcomes]) =>
    kinds.flatMap(kind =>
      (['nobody', 'dead', 'alive'] as const).map(
        holder => ({ present, kind, ifVersion, holder, outcome: withHolder(outcomes[kind], holder) }) as VerdictCase,
      ),
    ),
  ),
)

const start = toEpochSeconds(1_000_000)
const ttl = 10
const before = 'before'
const after = 'after'

const uniqueIndex: IndexDraft = {
  components: [{ path: ['unique'], isDescending: false }],
  uniqueness: 'partition',
  isDeclared: true,
}

const containers = {
  plain: { logSeconds: null, declaredIndexes: [] },
  logged: { logSeconds: 1000, declaredIndexes: [] },
  'with a unique index': { logSeconds: null, declaredIndexes: [uniqueIndex] },
  'logged and with a unique index': { logSeconds: 1000, declaredIndexes: [uniqueIndex] },
} as const

async function makeContainer(store: Store, name: keyof typeof containers): Promise<ContainerRecord> {
  const database = (await store.createDatabase({ id: 'd', rid: 7, throughput: null }))!
  const container = await store.createContainer(database, {
    id: 'c',
    rid: 8,
    throughput: null,
    partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
    partitionCount: 1,
    encoding: 'json',
    policy: newPolicy(-1),
    definition: {},
    ...containers[name],
  })
  return container!
}

type Answered = Pick<StepAnswer, 'outcome' | 'item'>

/** The ways in which a single change can be asked for. */
const ways: Record<string, (store: Store, container: ContainerRecord, write: ItemWrite) => Promise<Answered>> = {
  'a write': (store, container, write) => store.write(container, write),
  'a transaction that looks': (store, container, write) =>
    transact(store, { container, key: write.key, decide: () => write }),
  'a transaction that does not look': (store, container, write) =>
    transact(store, { container, key: write.key, decide: () => write, isBlind: true }),
}

async function transact(store: Store, step: Step): Promise<Answered> {
  const { steps, refusal } = await store.transact([step])
  const [answer] = steps
  assert.equal(refusal !== undefined, !['created', 'replaced', 'deleted'].includes(answer!.outcome))
  return answer!
}

export function verdictContract(name: string, prepare: () => Promise<Opener>): void {
  describe(`what a write comes to, over ${name}`, () => {
    for (const [way, ask] of Object.entries(ways)) {
      for (const kindOfContainer of Object.keys(containers) as (keyof typeof containers)[]) {
        test(`${way}, to a container that is ${kindOfContainer}`, async () => {
          await using opener = await prepare()
          const clock = new ManualClock(start)
          await using store = await opener.open(clock)
          const container = await makeContainer(store, kindOfContainer)
          await check(store, container, clock, ask)
        })
      }
    }
  })
}

async function check(
  store: Store,
  container: ContainerRecord,
  clock: ManualClock,
  ask: (typeof ways)[string],
): Promise<void> {
  const isUnique = container.indexes.length > 0
  const cases = verdictCases
    .filter(({ holder }) => isUnique || holder === 'nobody')
    // Several partition keys, so that some of the writes go to different buckets.
    .map((each, n) => ({ ...each, n, pk: `p${n % 5}`, key: keyOf(`i${n}`, `p${n % 5}`) }))
  const versions = await Promise.all(
    cases.map(async ({ present, holder, n, pk, key }) => {
      const lives = (state: string) => (state === 'dead' ? { ttl } : {})
      if (holder !== 'nobody') {
        const content = { unique: `wanted ${n}` }
        await store.write(container, put('create', keyOf(`holder${n}`, pk), { content, ...lives(holder) }))
      }
      if (present === 'nothing') return undefined
      const content = { is: before, unique: `own ${n}` }
      return (await store.write(container, put('create', key, { content, ...lives(present) }))).version
    }),
  )
  clock.advance(ttl)
  const answers = await Promise.all(
    cases.map(({ kind, ifVersion, key, n }, at) => {
      const version = ifVersion === 'none' ? undefined : ifVersion === 'same' ? versions[at] : 1_000_000
      const content = { is: after, unique: `wanted ${n}` }
      const write: ItemWrite = kind === 'delete' ? { kind, key } : put(kind, key, { content })
      return ask(store, container, { ...write, ifVersion: version })
    }),
  )
  for (const [at, each] of cases.entries()) {
    const { present, kind, ifVersion, holder, outcome, key } = each
    const title = `${kind} over ${present}, version: ${ifVersion}, holder of its unique key: ${holder}`
    assert.equal(answers[at]!.outcome, outcome, title)
    const { item } = await store.read(container, key)
    const shown = item && JSON.parse(textOf(item.body)).is
    const isStored = outcome === 'created' || outcome === 'replaced'
    const left = present === 'alive' && outcome !== 'deleted' ? before : undefined
    assert.equal(shown, isStored ? after : left, `${title}: what is there afterwards`)
    assert.deepEqual(answers[at]!.item, isStored ? item : undefined, `${title}: the item in the answer`)
  }
}
