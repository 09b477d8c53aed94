/** Waits for background work: asks the server for its indexes until they are as wanted. */

import assert from 'node:assert/strict'
import type { Container } from '@azure/cosmos'
import { call } from '../support/signed-request.ts'
import type { TestServer } from '../support/start-server.ts'

export interface ShownIndex {
  readonly paths: readonly string[]
  readonly declared: boolean
  readonly state: 'ready' | 'building'
}

export async function indexesOf({ db }: Pick<TestServer, 'db'>, container: Container): Promise<readonly ShownIndex[]> {
  const { json } = await call(db.endpoint, 'GET', '/status')
  const database = json.databases.find(({ id }: { id: string }) => id === container.database.id)
  return database.containers.find(({ id }: { id: string }) => id === container.id).indexes
}

/** The wait is bounded by the number of requests, not by time, so a busy machine does not fail a test. */
export async function waitForIndexes(
  server: Pick<TestServer, 'db'>,
  container: Container,
  isWanted: (indexes: readonly ShownIndex[]) => boolean = areReady,
): Promise<readonly ShownIndex[]> {
  let indexes: readonly ShownIndex[] = []
  for (let look = 0; look < 5000; look++) {
    indexes = await indexesOf(server, container)
    if (isWanted(indexes)) return indexes
  }
  assert.fail(`the indexes are still ${JSON.stringify(indexes)}`)
}

export function areReady(indexes: readonly ShownIndex[]): boolean {
  return indexes.length > 0 && indexes.every(({ state }) => state === 'ready')
}
