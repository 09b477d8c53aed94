/**
 * Loads a seed into an empty store, before the server accepts requests.
 *
 * A store that has databases is not changed. If loading was interrupted, the next start with the same seed
 * loads it again, and each item exists once. If the seed has a mistake, nothing of it stays.
 */

import type { ImportSide } from '../admin/import-calls.ts'
import { RequestError } from '../base/error.ts'
import type { Logger } from '../base/log.ts'
import type { Engine } from '../engine/engine.ts'
import { ImportWriter } from '../engine/import-writer.ts'
import { itemKey } from '../engine/item-key.ts'
import { parseResourceId } from '../nosql/definitions/resource-name.ts'
import type { DatabaseRecord } from '../store/catalog.ts'
import { importRows } from '../transfer/import-rows.ts'
import type { Seed } from '../transfer/seed.ts'

export async function seedStore(engine: Engine, imports: ImportSide, seed: Seed, log: Logger): Promise<void> {
  const { path } = seed
  const isEmpty = (await engine.catalog.databases()).length === 0
  // An empty store is loaded, even if this seed was loaded before.
  const present = isEmpty ? undefined : await stateOf(engine)
  if (!isEmpty && present !== seed.digest) {
    log.info({ seed: path }, 'there is data already; the seed was not loaded')
    return
  }
  await setState(engine, seed.digest)
  const created: DatabaseRecord[] = []
  let items: number
  try {
    for (const id of seed.databases) {
      const made = await engine.catalog.createDatabase(parseResourceId(id), null)
      if (made !== undefined) created.push(made)
    }
    items = await loadContainers(engine, imports, seed)
  } catch (error) {
    // Otherwise the next start would find data, and would not load the corrected seed.
    for (const database of created) await engine.catalog.deleteDatabase(database)
    throw error
  }
  await setState(engine, 'done')
  log.info({ seed: path, containers: seed.containers.length, items }, 'the seed was loaded')
}

/** Returns how many items were loaded. */
async function loadContainers(engine: Engine, imports: ImportSide, { path, containers }: Seed): Promise<number> {
  let items = 0
  for (const each of containers) {
    const { database, container } = each
    const found = (await engine.catalog.findContainer(database, container)) ?? (await imports.create(each))
    const writer = new ImportWriter(engine, await imports.edgeOf(found, 'reset'), { mode: 'upsert' })
    await importRows(each.rows(), writer, {
      onBatch: ({ counts, refused }) => {
        items += counts.created + counts.replaced
        const [first] = refused
        if (first === undefined) return
        throw new RequestError('malformed', `${path}, line ${first.line} (${database}/${container}): ${first.reason}`)
      },
    })
  }
  return items
}

async function keyOfState(engine: Engine) {
  const container = await engine.systemItems.container('seed', null)
  return { container, key: itemKey(container, ['seed'], 'seed') }
}

/** The digest of the seed that is being loaded, or `done`. */
async function stateOf(engine: Engine): Promise<string | undefined> {
  const { container, key } = await keyOfState(engine)
  const item = await engine.systemItems.find(container, key)
  return item === undefined ? undefined : (JSON.parse(item.body as string) as string)
}

async function setState(engine: Engine, state: string): Promise<void> {
  const { container, key } = await keyOfState(engine)
  const draft = { texts: [JSON.stringify(state)], stamps: [] }
  await engine.systemItems.write(container, { kind: 'upsert', key, draft, ttl: undefined })
}
