/** Consumers of the change feed, killed and resumed at random, with one server that restarts. */

import test from 'node:test'
import { mayfly } from '../../../src/index.ts'
import { temporaryDirectory } from '../../support/start-server.ts'
import { checkHistory, type Servers } from './change-feed-history.ts'

async function startOne(partitions: number): Promise<Servers> {
  const options = { clock: 'manual', data: temporaryDirectory(), partitions } as const
  let db = await mayfly(options)
  return {
    any: () => db,
    now: () => db.clock.now(),
    advance: async seconds => void (await db.clock.advance(`${seconds}s`)),
    restart: async () => {
      await db.close()
      db = await mayfly(options)
    },
    [Symbol.asyncDispose]: () => db.close(),
  }
}

for (const seed of [1, 2, 3]) {
  test(`Nothing is lost, repeated or out of order (seed ${seed})`, async () => {
    await using servers = await startOne(1 + (seed % 3))
    await checkHistory(servers, seed, 90)
  })
}
