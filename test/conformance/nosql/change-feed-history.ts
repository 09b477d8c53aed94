/**
 * A random history, and consumers built on the SDK's iterator, killed and resumed at random while items are
 * written, die, are removed, and the server restarts.
 *
 * A consumer saves what it saw together with its continuation; a kill loses what it read since. A reader of
 * all versions must have seen every version, delete and death once and in order. A reader of the latest
 * versions must have seen the last version of every living item.
 */

import assert from 'node:assert/strict'
import { ChangeFeedMode, ChangeFeedStartFrom, type Container } from '@azure/cosmos'
import type { Mayfly } from '../../../src/index.ts'
import { seeded } from '../../support/random-bson.ts'
import { newClient } from '../../support/start-server.ts'

interface Seen {
  readonly id: string
  readonly pk: string
  readonly lsn: number
  /** `create 3`, `replace 4`, `delete`, `expire`. */
  readonly event: string
}

interface Item {
  id: string
  pk: string
  n: number
  ttl?: number
  _ts: number
  _lsn: number
}

interface AnyChange {
  current: Item
  metadata: {
    operationType: string
    lsn: number
    timeToLiveExpired?: boolean
    id: string
    partitionKey: { pk: string }
  }
}

class Consumer {
  readonly seen: Seen[] = []
  readonly #mode: ChangeFeedMode
  #continuation: string | undefined

  constructor(mode: ChangeFeedMode) {
    this.#mode = mode
  }

  /** Reads some pages, or all; `isKilled` decides before each page is saved. */
  async run(container: Container, now: () => number, isKilled: () => boolean, maxItemCount: number): Promise<boolean> {
    const changeFeedStartFrom =
      this.#continuation === undefined
        ? ChangeFeedStartFrom[this.#mode === ChangeFeedMode.LatestVersion ? 'Beginning' : 'Now']()
        : ChangeFeedStartFrom.Continuation(this.#continuation)
    const iterator = container.items.getChangeFeedIterator<Item & AnyChange>({
      changeFeedStartFrom,
      changeFeedMode: this.#mode,
      maxItemCount,
    })
    while (true) {
      const { statusCode, result, continuationToken } = await iterator.readNext()
      // The first page of a feed that starts now says where now is; without it everything would be lost.
      if (this.#continuation !== undefined && isKilled()) return false
      this.#continuation = continuationToken
      if (statusCode === 304) return true
      for (const change of result) {
        if (this.#mode === ChangeFeedMode.LatestVersion) {
          assert.ok(
            change.ttl === undefined || change.ttl === -1 || change._ts + change.ttl > now(),
            'never a dead item',
          )
          this.seen.push({ id: change.id, pk: change.pk, lsn: change._lsn, event: `${change.n}` })
        } else this.seen.push(toSeen(change))
      }
    }
  }
}

function toSeen({ current, metadata }: AnyChange): Seen {
  const { operationType, lsn, timeToLiveExpired, id, partitionKey } = metadata
  if (operationType !== 'delete') return { id: current.id, pk: current.pk, lsn, event: `${operationType} ${current.n}` }
  return { id, pk: partitionKey.pk, lsn, event: timeToLiveExpired === true ? 'expire' : 'delete' }
}

/** The expected changes of each item, and which items are alive. */
class Model {
  readonly events = new Map<string, string[]>()
  readonly living = new Map<string, { n: number; deadline: number }>()

  note(item: string, event: string): void {
    const list = this.events.get(item) ?? []
    this.events.set(item, [...list, event])
  }

  bury(now: number): void {
    for (const [item, { deadline }] of this.living) {
      if (deadline > now) continue
      this.living.delete(item)
      this.note(item, 'expire')
    }
  }
}

export interface Servers extends AsyncDisposable {
  /** A server of the database; if there are several, not always the same. */
  any(): Mayfly
  /** The time on all servers. */
  now(): number
  advance(seconds: number): Promise<void>
  /** Restarts a server. */
  restart(): Promise<void>
}

/** Runs a history of that many steps and checks what its consumers saw. */
export async function checkHistory(servers: Servers, seed: number, steps: number): Promise<void> {
  const random = seeded(seed)
  const container = () => newClient(servers.any()).database('d').container('items')
  const now = () => servers.now()
  const { database } = await newClient(servers.any()).databases.create({ id: 'd' })
  const changeFeedPolicy = { retentionDuration: 60 }
  await database.containers.create({ id: 'items', partitionKey: '/pk', defaultTtl: -1, changeFeedPolicy } as never)
  const model = new Model()
  const consumers = [new Consumer(ChangeFeedMode.AllVersionsAndDeletes), new Consumer(ChangeFeedMode.LatestVersion)]
  const consume = async (isKilled: () => boolean) => {
    for (const consumer of consumers) await consumer.run(container(), now, isKilled, 1 + random(6))
  }
  await consume(() => false)

  for (let n = 1; n <= steps; n++) {
    const id = String(random(6))
    const pk = `p${random(3)}`
    const name = `${pk}/${id}`
    const isAlive = model.living.has(name)
    const choice = random(20)
    if (choice < 13) {
      const ttl = random(3) === 0 ? -1 : 1 + random(8)
      await container().items.upsert({ id, pk, n, ttl })
      model.note(name, `${isAlive ? 'replace' : 'create'} ${n}`)
      model.living.set(name, { n, deadline: ttl === -1 ? Number.POSITIVE_INFINITY : now() + ttl })
    } else if (choice < 15 && isAlive) {
      await container().item(id, pk).delete()
      model.note(name, 'delete')
      model.living.delete(name)
    } else if (choice < 18) {
      await servers.advance(1 + random(4))
      // A restart would forget a time that nobody has seen.
      await container().item('nobody', 'p').read()
    } else if (choice === 18) await servers.any().purge()
    else if (random(4) === 0) await servers.restart()
    // A new clock starts with the machine's time, which may be later.
    model.bury(now())
    if (random(3) === 0) await consume(() => random(3) === 0)
  }
  await servers.any().purge()
  await consume(() => false)

  const [all, latest] = consumers as [Consumer, Consumer]
  const told = new Map<string, string[]>()
  for (const { pk, id, event } of all.seen) told.set(`${pk}/${id}`, [...(told.get(`${pk}/${id}`) ?? []), event])
  assert.deepEqual([...told].toSorted(), [...model.events].toSorted())
  for (const consumer of consumers) {
    for (const pk of ['p0', 'p1', 'p2']) {
      const lsns = consumer.seen.filter(seen => seen.pk === pk).map(({ lsn }) => lsn)
      assert.deepEqual(
        lsns,
        lsns.toSorted((a, b) => a - b),
        'in order',
      )
      assert.equal(new Set(lsns).size, lsns.length, 'once')
    }
  }
  for (const [name, { n }] of model.living) {
    const last = latest.seen.findLast(({ pk, id }) => `${pk}/${id}` === name)
    assert.equal(last?.event, String(n), `the last version of ${name}`)
  }
}
