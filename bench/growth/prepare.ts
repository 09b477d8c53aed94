/**
 * Makes the data folder of each size from a copy of the next smaller one, by the fastest ways in: the import
 * call for items, inserts of a thousand for documents. Folders that are there are used again.
 */

import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { machine } from '../../src/base/clock.ts'
import { encodeRows } from '../../src/transfer/frames.ts'
import { DOCUMENT_BYTES } from '../mongo-documents.ts'
import { figure } from '../report.ts'
import { DATABASE, rawRequest, signedRequest } from '../requests.ts'
import { createDatabase, type MayflyProcess, startMayflyBoth } from '../targets.ts'
import { Client } from './client.ts'
import { COLLECTION, CONTAINER, documents, itemText } from './items.ts'

const itemsPerCall = 2000
const documentsPerCall = 1000
/** One is sent while the server writes the other. */
const callsAtOnce = 2

/** Nothing dies by itself, and yet every item has a deadline. */
export const DEFAULT_TTL_S = 10 * 365 * 86_400

export function containerDefinition(defaultTtl: number): string {
  const path = (name: string) => ({ path: `/${name}`, order: 'ascending' })
  return JSON.stringify({
    id: CONTAINER,
    partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
    defaultTtl,
    // Without declared indexes the first queries at each size would measure scans and the build of an index.
    indexingPolicy: {
      indexingMode: 'consistent',
      automatic: true,
      includedPaths: [{ path: '/*' }],
      excludedPaths: [{ path: '/"_etag"/?' }],
      compositeIndexes: [
        [path('group'), path('pk')],
        [path('id'), path('pk')],
      ],
    },
  })
}

/** Makes the folders of the sizes that are not there yet. Returns the folder of each. */
export async function prepare(root: string, sizes: readonly number[]): Promise<ReadonlyMap<number, string>> {
  const folders = new Map<number, string>()
  let before: { readonly folder: string; readonly size: number } | undefined
  for (const size of sizes.toSorted((a, b) => a - b)) {
    const folder = join(root, `items-${size}`)
    if (!existsSync(folder)) {
      const growing = `${folder}-growing`
      rmSync(growing, { recursive: true, force: true })
      if (before === undefined) mkdirSync(growing, { recursive: true })
      else cpSync(before.folder, growing, { recursive: true })
      await grow(growing, before?.size ?? 0, size)
      renameSync(growing, folder)
    }
    folders.set(size, folder)
    before = { folder, size }
  }
  return folders
}

/** Adds items and documents to a folder. */
export async function grow(folder: string, from: number, to: number): Promise<void> {
  await using server = await startMayflyBoth(['--data', folder])
  if (from === 0) await createContainers(server)
  const startMs = machine.monotonicMs()
  await inParallel(
    server,
    (client, { first, count }) => importItems(client, count, at => itemText(first + at)),
    itemsPerCall,
    from,
    to,
  )
  const middleMs = machine.monotonicMs()
  await inParallel(server, addDocuments, documentsPerCall, from, to)
  const rate = (ms: number) => figure(((to - from) * 1000) / ms)
  const rates = `${rate(middleMs - startMs)} items/s, ${rate(machine.monotonicMs() - middleMs)} documents/s`
  console.log(`grown from ${figure(from)} to ${figure(to)}: ${rates}`)
}

/** An empty container and an empty collection. */
export async function createContainers(server: MayflyProcess): Promise<void> {
  await createDatabase(server.port)
  using client = await Client.open(server)
  const path = `/dbs/${DATABASE}/colls`
  await client.ask(signedRequest({ method: 'POST', path, body: containerDefinition(DEFAULT_TTL_S) }), 201)
  await client.command({ createIndexes: COLLECTION, indexes: [{ key: { group: 1 }, name: 'group_1' }] })
}

interface Stretch {
  readonly first: number
  readonly count: number
}

async function inParallel(
  server: MayflyProcess,
  add: (client: Client, stretch: Stretch) => Promise<void>,
  perCall: number,
  from: number,
  to: number,
): Promise<void> {
  let next = from
  const run = async () => {
    using client = await Client.open(server)
    while (next < to) {
      const first = next
      next = Math.min(to, first + perCall)
      await add(client, { first, count: next - first })
    }
  }
  await Promise.all(Array.from({ length: callsAtOnce }, run))
}

/** Imports items in one call. */
export async function importItems(client: Client, count: number, textOf: (at: number) => string): Promise<void> {
  const rows = Array.from({ length: count }, (_, at) => {
    return { line: at + 1, bytes: Buffer.from(textOf(at)), end: 0, endLine: at + 1 }
  })
  const body = encodeRows(rows)
  const path = `/_mayfly/import/${DATABASE}/${CONTAINER}`
  const headers = { 'content-type': 'application/octet-stream', 'content-length': String(body.length) }
  const answer = await client.ask(Buffer.concat([rawRequest({ method: 'POST', path, headers }), body]))
  const { counts } = JSON.parse(answer.body) as { counts: { created: number } }
  if (counts.created !== count) throw new Error(`Of ${count} items: ${answer.body.slice(0, 300)}`)
}

export async function addDocuments(client: Client, { first, count }: Stretch): Promise<void> {
  const bytes = documents.room(count)
  for (let at = 0; at < count; at++) documents.write(bytes, at * DOCUMENT_BYTES, first + at)
  await client.command({ insert: COLLECTION, ordered: true }, { name: 'documents', documents: bytes })
}
