/** Create, save, delete and change the life of one item; delete many. */

import { machine } from '../../base/clock.ts'
import { CapacityError, RequestError } from '../../base/error.ts'
import type { LifeCursor, ListedItem } from '../../engine/item-lives.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { ttlSecondsMax } from '../../ttl/lifespan.ts'
import { type ApiAnswer, type ApiCall, documentTextBytesMax } from '../http/call.ts'
import { ConflictError, FieldError } from '../http/error-map.ts'
import { choiceOf, optionalText, textField, wholeField } from '../http/fields.ts'
import { showItem } from '../items/one-item.ts'
import { createItem, deleteItem, removeItem, replaceItem, setTtl } from '../items/writes.ts'
import type { Job } from '../service/jobs.ts'
import type { ExplorerService } from '../service/service.ts'
import { readKey } from '../service/tokens.ts'
import { keyOfCall, requireContainer } from './containers.ts'
import { withItemTest } from './items.ts'

export async function postItem(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const text = textField(await call.body(documentTextBytesMax), 'text')
  const key = await createItem(service, container, text)
  return { status: 201, json: await written(service, container, key) }
}

export async function putItem(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const text = textField(await call.body(documentTextBytesMax), 'text')
  const expected = expectedOf(call)
  const key = await replaceItem(service, container, await keyOfCall(service, container, call), { text, expected })
  return { json: await written(service, container, key) }
}

export async function removeOne(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  await deleteItem(service, container, await keyOfCall(service, container, call), expectedOf(call))
  service.counts.forget()
  return { status: 204 }
}

async function written(service: ExplorerService, container: ContainerRecord, key: ItemKey): Promise<object> {
  service.counts.forget()
  const shown = await showItem(service, container, key)
  // A document with a date in the past dies with its write. One with a short life may die before it is
  // shown.
  if (shown === undefined) throw new RequestError('not_found', 'The item was saved, and has died meanwhile.')
  return shown
}

function expectedOf({ req }: ApiCall): string {
  const expected = req.headers['if-match']
  if (expected !== undefined) return expected
  throw new FieldError('if-match', 'Say which version is meant: the header if-match with the etag, or *.')
}

const hourS = 3600

export async function setLife(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const set = choiceOf((await call.body()).set, 'set', ['+1h', 'never', 'inherit'])
  const expected = expectedOf(call)
  const key = await keyOfCall(service, container, call)
  if (container.policy.defaultTtl === null) {
    throw new FieldError('set', 'Time to Live is Off here: a ttl in an item is only data.')
  }
  if (container.encoding === 'bson') await requireDocumentTtl(service, container)
  const ttl = set === 'inherit' ? undefined : set === 'never' ? -1 : await oneHourMore(service, container, key)
  const item = await service.engine.lookAt(container, key)
  // Removing a ttl that is not there would be refused.
  if (set !== 'inherit' || item?.ttl !== null) await setTtl(service, container, key, { ttl, expected })
  return { json: await written(service, container, key) }
}

async function requireDocumentTtl(service: ExplorerService, container: ContainerRecord): Promise<void> {
  if ((await service.mongo()).describe(container).hasDateDeadlines) {
    throw new ConflictError('A date in the document ends it here, not its ttl. Change the date.')
  }
  if (service.mongoSwitches.isDocumentTtlOn) return
  throw new ConflictError('Per-document TTL is off: a ttl in a document is only data. Switch it on in the settings.')
}

/** The ttl with which the item dies an hour after its present deadline, if it is written now. */
async function oneHourMore({ engine }: ExplorerService, container: ContainerRecord, key: ItemKey): Promise<number> {
  const item = await engine.lookAt(container, key)
  if (item === undefined || item.isDead) throw new RequestError('not_found', 'There is no such item: it has died.')
  if (item.dies === null) throw new ConflictError('The item never dies, so an hour more changes nothing.')
  return Math.min(ttlSecondsMax, item.dies + hourS - (await engine.moment()))
}

const keysMax = 10_000
const deletedAtOnce = 16
const retriesMax = 100

export async function deleteMany(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const body = await call.body()
  const jobId = optionalText(body, 'job')
  const begin = () => service.jobs.begin('delete', container.database.id, container.id, jobId)
  if (body.keys !== undefined) {
    const { keys } = body
    if (!Array.isArray(keys) || keys.length > keysMax || keys.some(key => typeof key !== 'string')) {
      throw new FieldError('keys', `"keys" must be a list of at most ${keysMax} keys.`)
    }
    const named = (keys as string[]).map(readKey)
    const job = begin()
    job.progress.total = named.length
    runJob(service, job, () => deleteNamed(service, container, job, named))
    return { status: 202, json: job.show() }
  }
  const query = optionalText(body, 'query') ?? ''
  const filter = choiceOf(body.filter, 'filter', ['all', 'minute', 'never'], 'all')
  const expect = wholeField(body, 'expect', 0, Number.MAX_SAFE_INTEGER)
  const count = await countExactly(service, container, { filter, query })
  if (count > expect + Math.max(10, expect / 100)) {
    throw new ConflictError(`${count} items match, not ${expect}. Nothing was deleted.`, { count })
  }
  const job = begin()
  job.progress.total = count
  runJob(service, job, () => deleteMatching(service, container, job, { filter, query }))
  return { status: 202, json: job.show() }
}

interface Selection {
  readonly filter: 'all' | 'minute' | 'never'
  readonly query: string
}

function runJob(service: ExplorerService, job: Job, work: () => Promise<void>): void {
  work().then(
    () => job.end(),
    error => {
      if (!(error instanceof RequestError) && !(error instanceof CapacityError)) {
        service.log.error({ error, job: job.id }, 'a job of the explorer failed in a way it should not')
      }
      job.end(error)
    },
  )
}

async function countExactly(
  service: ExplorerService,
  container: ContainerRecord,
  selection: Selection,
): Promise<number> {
  let count = 0
  await eachBatch(service, container, selection, async items => {
    count += items.length
  })
  return count
}

async function eachBatch(
  service: ExplorerService,
  container: ContainerRecord,
  { filter, query }: Selection,
  take: (items: readonly ListedItem[]) => Promise<void>,
  signal?: AbortSignal,
): Promise<void> {
  await withItemTest(service, container, query, async accepts => {
    const size = { itemsMax: 500, examineMax: 2000, accepts }
    let cursor: LifeCursor | undefined = {}
    while (cursor !== undefined && signal?.aborted !== true) {
      const page = await service.engine.listLives(container, { filter, order: 'soonest' }, cursor, size)
      await take(page.items)
      cursor = page.next
    }
  })
}

async function deleteMatching(
  service: ExplorerService,
  container: ContainerRecord,
  job: Job,
  selection: Selection,
): Promise<void> {
  await eachBatch(service, container, selection, items => deleteBatch(service, container, job, items), job.signal)
  service.counts.forget()
}

async function deleteNamed(
  service: ExplorerService,
  container: ContainerRecord,
  job: Job,
  keys: readonly ItemKey[],
): Promise<void> {
  for (let at = 0; at < keys.length && !job.signal.aborted; at += 100) {
    const found = await Promise.all(keys.slice(at, at + 100).map(key => service.engine.lookAt(container, key)))
    const living = found.filter(item => item !== undefined && !item.isDead) as ListedItem[]
    job.progress.skipped += found.length - living.length
    job.progress.done += found.length - living.length
    await deleteBatch(service, container, job, living)
  }
  service.counts.forget()
}

async function deleteBatch(
  service: ExplorerService,
  container: ContainerRecord,
  job: Job,
  items: readonly ListedItem[],
): Promise<void> {
  const { progress } = job
  for (let at = 0; at < items.length && !job.signal.aborted; at += deletedAtOnce) {
    const batch = items.slice(at, at + deletedAtOnce)
    const removed = await Promise.all(batch.map(item => patiently(() => removeItem(service, container, item))))
    for (const isRemoved of removed) {
      progress.done++
      progress.chargeRu += 5
      if (isRemoved) progress.written++
      else progress.skipped++
    }
    job.moved()
  }
}

/** Repeats work that was throttled, when the time has passed that the error names. */
export async function patiently<T>(work: () => Promise<T>): Promise<T> {
  for (let tries = 1; ; tries++) {
    try {
      return await work()
    } catch (error) {
      if (!(error instanceof CapacityError) || error.kind !== 'throttled' || tries === retriesMax) throw error
      const waitMs = Math.max(1, error.retryAfterMs)
      await new Promise<void>(resolve => machine.setTimeout(resolve, waitMs))
    }
  }
}
