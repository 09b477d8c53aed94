/**
 * Writes to a store until the limit on the size of files refuses it, then purges and writes again. Started by
 * sqlite-disk.test.ts under `ulimit -f`; prints what happened.
 */

import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { sweepRowsMax } from '../../src/base/limits.ts'
import { put } from '../support/item-write.ts'
import { keyOf, makeContainer } from './store-contract.ts'

const happened: string[] = []
const clock = new ManualClock(toEpochSeconds(1_000_000))
const onFatal = () => happened.push('fatal')
const onDisk = (condition: string) => happened.push(condition)
const store = withContract(openSqlite({ directory: process.argv[2]!, clock: () => clock, onFatal, onDisk }))
const container = await makeContainer(store, 100)
const write = (n: number) =>
  store.write(container, put('create', keyOf(`${n}`), { content: { text: 'x'.repeat(10_000) } }))
let written = 0
try {
  while (true) {
    await write(written)
    written++
  }
} catch (error) {
  happened.push((error as { kind: string }).kind)
}
const isSecondRefused = await write(written).then(
  () => false,
  () => true,
)
if (isSecondRefused) happened.push('refused at once')
const { rows } = await store.census(container)
if (rows === written && written > 50) happened.push('all are there')
clock.advance(200)
for (let tries = 0; tries < 100; tries++) {
  const swept = await store.sweep(container, sweepRowsMax).catch(() => undefined)
  if (swept?.done) break
  await store.reclaim(sweepRowsMax).catch(() => undefined)
}
happened.push(`${(await store.census(container)).rows} rows after the purge`)
await store[Symbol.asyncDispose]()
process.stdout.write(JSON.stringify(happened))
