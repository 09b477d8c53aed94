/** Transactions in the simulation: several writes, all or none, over one bucket or several. */

import assert from 'node:assert/strict'
import type { StoredItem } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { ItemWrite, Step, StepAnswer, TransactAnswer } from '../../src/store/writing.ts'
import type { Write } from './operations.ts'
import type { World } from './world.ts'

export async function transact(world: World, asked: readonly Write[]): Promise<void> {
  const { store, twin, model } = world
  const writes = asked.map(write => world.toWrite(write))
  const seen: (StoredItem | undefined)[] = []
  const answer = await ask(world, store, writes, seen)
  const moment = world.observe(answer.moment)
  const before = new Map(model.items)
  const expected: StepAnswer['outcome'][] = []
  let refused = false
  for (const [index, write] of writes.entries()) {
    assert.equal(
      seen[index]?.version,
      model.read(write.key, moment)?.version,
      'a step sees the result of the steps before it',
    )
    const outcome = model.expect(write, moment)
    expected.push(outcome)
    refused = outcome === 'exists' || outcome === 'missing' || outcome === 'changed'
    if (refused) break
    const { item } = answer.steps[index]!
    model.apply(write, item === undefined ? { outcome } : { outcome, item })
  }
  assert.deepEqual(outcomesOf(answer), expected)
  assert.equal(answer.refusal !== undefined, refused)
  const theirs = await ask(
    world,
    twin.store,
    writes.map(write => twin.translated(write)),
    [],
  )
  assert.deepEqual(outcomesOf(theirs), expected)
  if (refused) {
    model.items.clear()
    for (const [name, item] of before) model.items.set(name, item)
    world.meet('a refused transaction')
    return
  }
  for (const [index, { key }] of writes.entries()) {
    const { item, outcome } = answer.steps[index]!
    twin.learn(item, theirs.steps[index]!.item)
    if (item !== undefined) world.know(key, item, outcome === 'replaced' ? seen[index]!.sequence : undefined)
  }
  await world.relearnNewest(writes.map(({ key }) => key))
  world.meet('a transaction')
}

function ask(
  { handle }: World,
  store: Store,
  writes: readonly ItemWrite[],
  seen: (StoredItem | undefined)[],
): Promise<TransactAnswer> {
  const steps = writes.map(
    (write, index): Step => ({
      container: handle,
      key: write.key,
      decide: found => {
        seen[index] = found
        return write
      },
    }),
  )
  return store.transact(steps)
}

function outcomesOf({ steps }: TransactAnswer): StepAnswer['outcome'][] {
  return steps.map(({ outcome }) => outcome)
}
