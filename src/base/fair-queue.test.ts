import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { FairQueue, type Place } from './fair-queue.ts'

function drain<T>(queue: FairQueue<T>): T[] {
  const taken: T[] = []
  for (let entry = queue.take(); entry !== undefined; entry = queue.take()) taken.push(entry)
  return taken
}

describe('a fair queue', () => {
  test('lets the names of each level take turns', () => {
    const queue = new FairQueue<string>()
    for (const entry of ['a1', 'a2', 'a3', 'b1', 'b2', 'c1']) queue.add({ entry, path: [entry[0]] })
    assert.deepEqual(drain(queue), ['a1', 'b1', 'c1', 'a2', 'b2', 'a3'])
  })

  test('lets connections take turns within a partition, whose share stays the same', () => {
    const queue = new FairQueue<string>()
    for (const entry of ['a-x-1', 'a-x-2', 'a-y-1', 'a-z-1', 'b-x-1', 'b-x-2']) {
      queue.add({ entry, path: entry.split('-').slice(0, 2) })
    }
    assert.deepEqual(drain(queue), ['a-x-1', 'b-x-1', 'a-y-1', 'b-x-2', 'a-z-1', 'a-x-2'])
  })

  test('a newcomer does not wait behind all the others', () => {
    const queue = new FairQueue<string>()
    for (let n = 0; n < 20; n++) queue.add({ entry: `many${n}`, path: ['many'] })
    queue.add({ entry: 'one', path: ['one'] })
    assert.equal(queue.take(), 'many0')
    assert.equal(queue.take(), 'one')
  })

  test('loses and repeats nothing, and keeps the order of equal paths', () => {
    const path = fc.tuple(fc.nat(2), fc.nat(2))
    fc.assert(
      fc.property(fc.array(fc.oneof(path, fc.constant('take'), fc.nat(30)), { maxLength: 60 }), actions => {
        const queue = new FairQueue<number>()
        const waiting: Place<number>[] = []
        let added = 0
        const checkTaken = (entry: number | undefined) => {
          if (entry === undefined) return assert.equal(waiting.length, 0)
          const at = waiting.findIndex(place => place.entry === entry)
          const isFirst = waiting.findIndex(({ path }) => String(path) === String(waiting[at]?.path)) === at
          assert.ok(at !== -1 && isFirst)
          waiting.splice(at, 1)
        }
        for (const action of actions) {
          if (action === 'take') checkTaken(queue.take())
          else if (typeof action === 'number') {
            const [gone] = waiting.splice(action, 1)
            const place = gone ?? { entry: -1, path: [0, 0] }
            assert.equal(queue.remove(place), gone !== undefined)
          } else {
            const place = { entry: added++, path: action }
            waiting.push(place)
            queue.add(place)
          }
          assert.equal(queue.length, waiting.length)
          for (const name of [0, 1, 2]) {
            assert.equal(queue.countBelow(name), waiting.filter(({ path }) => path[0] === name).length)
          }
        }
        while (waiting.length > 0) checkTaken(queue.take())
        assert.equal(queue.take(), undefined)
      }),
    )
  })
})
