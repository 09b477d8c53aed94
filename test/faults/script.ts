/** A fixed script of writes and sweeps. Started by faults.ts; prints what was acknowledged. */

import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { keyOf, makeContainer } from '../contract/store-contract.ts'
import { put } from '../support/item-write.ts'

const acknowledged: number[] = []
let end = 'done'
try {
  const clock = new ManualClock(toEpochSeconds(1_000_000))
  const onFatal = () => {
    end = 'fatal'
  }
  const store = withContract(openSqlite({ directory: process.argv[2]!, clock: () => clock, onFatal }))
  const container = await makeContainer(store, null)
  for (let n = 0; n < 30; n++) {
    const write = put('create', keyOf(`${n}`), { content: { text: 'x'.repeat(n * 100) } })
    const answer = await store.write(container, write).catch(() => undefined)
    if (answer?.outcome === 'created') acknowledged.push(n)
    if (n % 10 === 9) await store.sweep(container, 100).catch(() => undefined)
  }
  for (const n of acknowledged) {
    if (end === 'done' && (await store.read(container, keyOf(`${n}`))).item === undefined) end = `${n} is lost`
  }
  await store[Symbol.asyncDispose]()
} catch (error) {
  end = end === 'done' ? `refused: ${(error as Error).message}` : end
}
process.stdout.write(JSON.stringify({ acknowledged, end }))
