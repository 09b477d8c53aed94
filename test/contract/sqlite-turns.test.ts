/** What shares a commit of the embedded store, and who goes first. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, machine, toEpochSeconds } from '../../src/base/clock.ts'
import { inHeavyTurn } from '../../src/base/heavy-turns.ts'
import { commitBytesMax, groupWritesMax } from '../../src/base/limits.ts'
import type { Step } from '../../src/store/writing.ts'
import { put } from '../support/item-write.ts'
import { keyOf, makeContainer } from './store-contract.ts'

async function open() {
  const clock = new ManualClock(toEpochSeconds(1_000_000))
  const onFatal = (error: Error) => {
    throw error
  }
  const store = withContract(openSqlite({ directory: undefined, clock: () => clock, onFatal }))
  return { store, container: await makeContainer(store, null) }
}

/** For each write the number of the commit that answered it. A commit answers all its writes at once. */
async function commitsOf(writes: readonly Promise<unknown>[]): Promise<number[]> {
  let turn = 0
  let isOver = false
  const count = () => {
    turn++
    if (!isOver) machine.setImmediate(count)
  }
  machine.setImmediate(count)
  const turns = await Promise.all(writes.map(write => write.then(() => turn)))
  isOver = true
  const distinct = [...new Set(turns)].sort((a, b) => a - b)
  return turns.map(each => distinct.indexOf(each))
}

const large = 'x'.repeat(commitBytesMax)

test('small writes do not wait for many large ones', async () => {
  const { store, container } = await open()
  const create = (id: string, text: string) => store.write(container, put('create', keyOf(id), { content: { text } }))
  const writes = [
    ...Array.from({ length: 8 }, (_, at) => create(`large-${at}`, large)),
    ...Array.from({ length: 8 }, (_, at) => create(`small-${at}`, 'x')),
  ]
  const commits = await commitsOf(writes)
  // In the turn of the first large write, which came first.
  assert.deepEqual(commits.slice(8), Array(8).fill(0))
  // A commit with a large write has no room for another one.
  assert.deepEqual(commits.slice(0, 8), [0, 1, 2, 3, 4, 5, 6, 7])
})

test('a small write waits for one large write at most', async () => {
  const { store, container } = await open()
  const create = (id: string, text: string) => store.write(container, put('create', keyOf(id), { content: { text } }))
  const answered: string[] = []
  const note = (name: string) => () => answered.push(name)
  const many = Array.from({ length: 4 }, (_, at) => create(`large-${at}`, large).then(note('large')))
  // A new small write whenever one is answered.
  const always = (async () => {
    for (let at = 0; at < 4; at++) await create(`small-${at}`, 'x').then(note('small'))
  })()
  await Promise.all([...many, always])
  const whileBoth = answered.slice(0, answered.lastIndexOf('small'))
  assert.ok(
    whileBoth.every((name, at) => name === 'small' || whileBoth[at + 1] !== 'large'),
    answered.join(' '),
  )
})

test('a commit ends when it has written enough, also if the size was not known before', async () => {
  const { store, container } = await open()
  const step = (id: string): Step => {
    const change = put('create', keyOf(id), { content: { text: large } })
    return { container, key: keyOf(id), decide: () => change }
  }
  const writes = Array.from({ length: 5 }, (_, at) => store.transact([step(`${at}`)]))
  assert.deepEqual(await commitsOf(writes), [0, 1, 2, 3, 4])
  for (const answer of await Promise.all(writes)) assert.equal(answer.steps[0]!.outcome, 'created')
})

test('transactions count by their steps', async () => {
  const { store, container } = await open()
  const transaction = (name: string, length: number) =>
    store.transact(
      Array.from({ length }, (_, at): Step => {
        const key = keyOf(`${name}-${at}`)
        const change = put('create', key, {})
        return { container, key, decide: () => change }
      }),
    )
  const writes = Array.from({ length: 4 }, (_, at) => transaction(`t${at}`, groupWritesMax / 2))
  assert.deepEqual(await commitsOf(writes), [0, 0, 1, 1])
})

test('small writes do not wait for many that are larger', async () => {
  const { store, container } = await open()
  const create = (id: string, text: string) => store.write(container, put('create', keyOf(id), { content: { text } }))
  const larger = Array.from({ length: 100 }, (_, at) => create(`larger-${at}`, 'x'.repeat(20_000)))
  const commits = await commitsOf([...larger, create('small', 'x')])
  assert.equal(commits.at(-1), 0)
})

test('a small write does not wait for more small writes when heavy work waits', async () => {
  const { store, container } = await open()
  const create = (id: string) => store.write(container, put('create', keyOf(id), {}))
  inHeavyTurn(() => {})
  const over = new Promise<void>(resolve => inHeavyTurn(resolve))
  const first = create('first')
  const second = new Promise(resolve => machine.setImmediate(() => resolve(create('second'))))
  assert.deepEqual(await commitsOf([first, second]), [0, 1])
  await over
})

test('when a large transaction is undone, others are not done again in the same turn', async () => {
  const { store, container } = await open()
  const stepsPerTurn = new Map<number, number>()
  let turn = 0
  let isOver = false
  const count = () => {
    turn++
    if (!isOver) machine.setImmediate(count)
  }
  count()
  const length = 50
  const transaction = (name: string, isRefused: boolean) =>
    store.transact(
      Array.from({ length }, (_, at): Step => {
        const key = keyOf(`${name}-${isRefused ? 0 : at}`)
        const change = put('create', key, {})
        const decide = () => {
          stepsPerTurn.set(turn, (stepsPerTurn.get(turn) ?? 0) + 1)
          return change
        }
        return { container, key, decide }
      }),
    )
  const names = ['a', 'b', 'refused', 'c', 'refused too', 'd']
  const answers = await Promise.all(names.map(name => transaction(name, name.startsWith('refused'))))
  isOver = true
  const refused = answers.map(({ refusal }) => refusal !== undefined)
  assert.deepEqual(refused, [false, false, true, false, true, false])
  assert.equal((await store.read(container, keyOf('refused-0'))).item, undefined)
  assert.notEqual((await store.read(container, keyOf('d-0'))).item, undefined)
  assert.ok(Math.max(...stepsPerTurn.values()) <= 2 * length + 2, [...stepsPerTurn].join(' '))
})

test('a commit has a limit of writes, also of small ones', async () => {
  const { store, container } = await open()
  const writes = Array.from({ length: 2 * groupWritesMax + 1 }, (_, at) =>
    store.write(container, put('create', keyOf(`${at}`), {})),
  )
  const commits = await commitsOf(writes)
  const full = [0, 1].flatMap(commit => Array<number>(groupWritesMax).fill(commit))
  assert.deepEqual(commits, [...full, 2])
})

test('a write that is refused in a cut group does not affect the others', async () => {
  const { store, container } = await open()
  const create = (id: string, text: string) => store.write(container, put('create', keyOf(id), { content: { text } }))
  const refused = store.transact(
    ['r1', 'r1'].map((id): Step => {
      const change = put('create', keyOf(id), {})
      return { container, key: keyOf(id), decide: () => change, bytes: 1 }
    }),
  )
  const writes = ['a', 'b', 'c'].map(id => create(id, 'x'.repeat(50_000).repeat(30)))
  assert.equal((await refused).refusal === undefined, false)
  for (const { outcome } of await Promise.all(writes)) assert.equal(outcome, 'created')
  assert.equal((await store.read(container, keyOf('r1'))).item, undefined)
})
