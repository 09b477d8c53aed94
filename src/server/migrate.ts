/**
 * Copies everything from one store into another, unchanged: containers, items, change logs and the clock.
 * Then it compares the two stores.
 */

import { openSqliteSource, openSqliteTarget } from '../adapters/sqlite/transfer.ts'
import { RequestError } from '../base/error.ts'
import { indexKeysOf } from '../engine/index-keys.ts'
import { systemDatabase } from '../engine/system-items.ts'
import {
  Checksum,
  type Reached,
  type StoreContents,
  type StoredContainer,
  type TransferSource,
  type TransferTarget,
} from '../store/transfer.ts'

/** Items that are copied in one step. A copy that was interrupted repeats at most this many. */
const transferItemsMax = 500

export interface MigrationProgress {
  readonly phase: 'copying' | 'comparing'
  readonly container: string
  readonly done: number
  readonly total: number
}

export interface MigratedContainer {
  readonly name: string
  /** Whether it is one of Mayfly's own containers, which users do not know. */
  readonly isOwn: boolean
  readonly items: number
  readonly logEntries: number
}

export async function migrateData(
  { from, to }: { readonly from: string; readonly to: string },
  onProgress: (progress: MigrationProgress) => void,
): Promise<readonly MigratedContainer[]> {
  if (from === to) throw new RequestError('malformed', 'The data is there already: --from and --to are the same.')
  await using source = await openSource(from)
  const contents = await source.contents()
  await using target = await openTarget(to)
  const reached = await target.begin(contents)
  await copyAll(source, target, contents, reached, onProgress)
  const compared = await compareAll(source, target, contents, onProgress)
  await target.finish(contents)
  return compared
}

function isUrl(place: string): boolean {
  return /^postgres(ql)?:\/\//.test(place)
}

async function openSource(place: string): Promise<TransferSource> {
  if (!isUrl(place)) return openSqliteSource(place)
  return (await import('../adapters/postgres/transfer.ts')).openPostgresSource(place)
}

async function openTarget(place: string): Promise<TransferTarget> {
  if (!isUrl(place)) return openSqliteTarget(place, indexKeysOf)
  return (await import('../adapters/postgres/transfer.ts')).openPostgresTarget(place, indexKeysOf)
}

/** Reads everything in batches and passes each batch to `each`. */
async function walk<T>(
  read: (after: T | undefined) => Promise<readonly T[]>,
  each: (batch: readonly T[]) => Promise<void> | void,
  from?: T,
): Promise<void> {
  for (let after = from; ; ) {
    const batch = await read(after)
    if (batch.length === 0) return
    await each(batch)
    after = batch.at(-1)!
  }
}

async function copyAll(
  source: TransferSource,
  target: TransferTarget,
  { containers }: StoreContents,
  reached: ReadonlyMap<number, Reached>,
  onProgress: (progress: MigrationProgress) => void,
): Promise<void> {
  const total = totalOf(containers)
  let done = 0
  for (const container of containers) {
    const { item, entry } = reached.get(container.number) ?? {}
    const count = (batch: readonly unknown[]) => {
      done += batch.length
      onProgress({ phase: 'copying', container: nameOf(container), done, total })
    }
    await walk<NonNullable<Reached['item']>>(
      after => source.items(container, after, transferItemsMax),
      async batch => {
        await target.putItems(container, batch as Awaited<ReturnType<TransferSource['items']>>)
        count(batch)
      },
      item,
    )
    await walk<NonNullable<Reached['entry']>>(
      after => source.log(container, after, transferItemsMax),
      async batch => {
        await target.putLog(container, batch as Awaited<ReturnType<TransferSource['log']>>)
        count(batch)
      },
      entry,
    )
  }
}

async function compareAll(
  source: TransferSource,
  target: TransferSource,
  { containers }: StoreContents,
  onProgress: (progress: MigrationProgress) => void,
): Promise<MigratedContainer[]> {
  const total = 2 * totalOf(containers)
  let done = 0
  const compared: MigratedContainer[] = []
  for (const container of containers) {
    const name = nameOf(container)
    const sums = async (store: TransferSource) => {
      const items = new Checksum()
      const log = new Checksum()
      const count = (batch: readonly unknown[]) => {
        done += batch.length
        onProgress({ phase: 'comparing', container: name, done, total })
      }
      await walk<Awaited<ReturnType<TransferSource['items']>>[number]>(
        after => store.items(container, after, transferItemsMax),
        batch => {
          for (const item of batch) items.add(item)
          count(batch)
        },
      )
      await walk<Awaited<ReturnType<TransferSource['log']>>[number]>(
        after => store.log(container, after, transferItemsMax),
        batch => {
          for (const entry of batch) log.add(entry)
          count(batch)
        },
      )
      return { items, log }
    }
    const [there, here] = [await sums(source), await sums(target)]
    if (String(there.items) !== String(here.items) || String(there.log) !== String(here.log)) {
      const counts = ({ items, log }: typeof here) => `${items.count} items and ${log.count} log entries`
      throw new RequestError(
        'unsupported',
        `${name} differs between the two stores: ${counts(there)} there, ${counts(here)} here, or other content. ` +
          'The migration is not finished.',
      )
    }
    const { items, log } = here
    compared.push({ name, isOwn: isOwn(container), items: items.count, logEntries: log.count })
  }
  return compared
}

function totalOf(containers: readonly StoredContainer[]): number {
  return containers.reduce((sum, { rows, logRows }) => sum + rows + logRows, 0)
}

function isOwn({ database }: StoredContainer): boolean {
  return database.id === systemDatabase
}

function nameOf(container: StoredContainer): string {
  return isOwn(container) ? 'Mayfly’s own data' : `${container.database.id}/${container.id}`
}
