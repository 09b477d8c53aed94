/**
 * Reads a seed: databases, containers and items for an empty store.
 *
 *   a JSON file      {"databases": [{"id", "containers": [{"id", "partitionKey", "items": […], …}]}]}
 *   a JSONL file     lines {"database", "container", "partitionKey"?, …, "item"?}
 *   a folder         as `mayfly export` writes it, with mayfly-export.json
 *
 * A container is described as in the REST protocol; `partitionKey` may be a path. With `"api": "mongo"` it
 * is a collection, whose items are extended JSON.
 */

import { createHash } from 'node:crypto'
import { createReadStream, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { RequestError } from '../base/error.ts'
import { MiB } from '../base/limits.ts'
import { JsonReader, JsonTextError } from '../document/json-reader.ts'
import type { ImportBatch } from './import-rows.ts'
import type { InputPlace, InputRow } from './input.ts'
import { readRows } from './read-rows.ts'
import { unreadable } from './unreadable.ts'

/** A seed file is read as a whole. A folder has no limit. */
const seedBytesMax = 64 * MiB

export const manifestName = 'mayfly-export.json'

export interface SeedContainer {
  readonly database: string
  readonly container: string
  readonly api: 'nosql' | 'mongo'
  /** `/pk`, or `/a,/b`; a collection may have none. */
  readonly partitionKey: string | undefined
  /** The rest of the definition. */
  readonly definition: Readonly<Record<string, unknown>>
  rows(): AsyncIterable<ImportBatch<InputPlace>>
}

export interface Seed {
  readonly path: string
  /** Databases, also those without containers. */
  readonly databases: readonly string[]
  readonly containers: readonly SeedContainer[]
  /** Changes when the seed does. */
  readonly digest: string
}

export function readSeed(path: string): Seed {
  try {
    if (statSync(path).isDirectory()) return readFolder(path)
    if (statSync(path).size > seedBytesMax) {
      throw new RequestError('too_large', `${path} is larger than ${seedBytesMax / MiB} MB. Use a folder.`)
    }
    const text = readFileSync(path, 'utf8').replace(/^\uFEFF/, '')
    return /\.(jsonl|ndjson)$/i.test(path) ? readLines(text, path) : readDocument(text, path)
  } catch (error) {
    if (error instanceof RequestError && !(error instanceof JsonTextError)) throw error
    if (error instanceof Error && 'syscall' in error)
      throw unreadable((error as NodeJS.ErrnoException).path ?? path, error)
    throw new RequestError('malformed', `The seed ${path} cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

type Named = Readonly<Record<string, unknown>>

function described(database: unknown, given: Named, path: string): Omit<SeedContainer, 'rows'> {
  const { id, api = 'nosql', partitionKey, items: _, database: __, container: ___, item: ____, ...rest } = given
  if (typeof database !== 'string' || typeof id !== 'string' || (api !== 'nosql' && api !== 'mongo')) {
    throw new RequestError('malformed', `${path}: a container needs "id", and "api" is "nosql" or "mongo".`)
  }
  const paths = Array.isArray(partitionKey) ? partitionKey : (partitionKey as { paths?: string[] } | undefined)?.paths
  const key = typeof partitionKey === 'string' ? partitionKey : paths?.join(',')
  if (typeof partitionKey === 'string' && /^[^/]/.test(partitionKey)) {
    throw new RequestError(
      'malformed',
      `${path}: the "partitionKey" of ${database}/${id} begins with /: "/${partitionKey}".`,
    )
  }
  if (key === undefined && api === 'nosql') {
    throw new RequestError('malformed', `${path}: the container ${database}/${id} needs a "partitionKey".`)
  }
  return { database, container: id, api, partitionKey: key === '' ? undefined : key, definition: rest }
}

function readDocument(text: string, path: string): Seed {
  const parsed = JSON.parse(text) as { databases?: unknown } | null
  const areNamed = (list: readonly { id?: unknown }[]) => list.every(each => typeof each?.id === 'string')
  if (!Array.isArray(parsed?.databases) || !areNamed(parsed.databases)) {
    throw new RequestError('malformed', `${path}: a seed is {"databases": [{"id", "containers": […]}]}.`)
  }
  // Items keep their text: JSON.parse would move names and round numbers.
  const items = itemTexts(new JsonReader(text))
  const databases = parsed.databases as { id: string; containers?: Named[] }[]
  const containers = databases.flatMap(({ id, containers = [] }, at) =>
    containers.map((given, index): SeedContainer => {
      const texts = items.get(`${at}/${index}`) ?? []
      return { ...described(id, given, path), rows: () => batchOf(texts) }
    }),
  )
  return { path, databases: databases.map(({ id }) => id), containers, digest: digestOf(text) }
}

interface PlacedText {
  readonly text: string
  readonly line: number
}

/** The items of each container, by the positions of database and container. */
function itemTexts(reader: JsonReader): Map<string, PlacedText[]> {
  const found = new Map<string, PlacedText[]>()
  let line = 1
  let seen = 0
  const lineAt = (at: number) => {
    for (; seen < at; seen++) if (reader.text.charCodeAt(seen) === 0x0a) line++
    return line
  }
  const only = (wanted: string, read: () => void) => (name: string) => {
    if (name === wanted) read()
    else reader.skip()
  }
  const eachOf = (read: (at: number) => void) => {
    let at = 0
    reader.array(() => read(at++))
  }
  const readItems = (key: string) => {
    const texts: PlacedText[] = []
    reader.array(() => {
      const start = reader.at
      texts.push({ text: reader.skip(), line: lineAt(start) })
    })
    found.set(key, texts)
  }
  const readContainers = (database: number) =>
    eachOf(container => reader.object(only('items', () => readItems(`${database}/${container}`))))
  const readDatabases = () => eachOf(database => reader.object(only('containers', () => readContainers(database))))
  reader.object(only('databases', readDatabases))
  return found
}

function readLines(text: string, path: string): Seed {
  const containers = new Map<string, { given: Named; database: string; texts: PlacedText[] }>()
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const parsed = JSON.parse(line) as Named
    const { database, container, item, ...rest } = parsed
    if (typeof database !== 'string' || typeof container !== 'string') {
      throw new RequestError('malformed', `${path}, line ${index + 1}: name "database" and "container".`)
    }
    const name = JSON.stringify([database, container])
    const known = containers.get(name) ?? { given: {}, database, texts: [] }
    containers.set(name, { ...known, given: { ...known.given, ...rest, id: container } })
    if (item !== undefined) known.texts.push({ text: memberText(line, 'item'), line: index + 1 })
  }
  const list = [...containers.values()].map(
    ({ given, database, texts }): SeedContainer => ({
      ...described(database, given, path),
      rows: () => batchOf(texts),
    }),
  )
  const databases = [...new Set(list.map(({ database }) => database))]
  return { path, databases, containers: list, digest: digestOf(text) }
}

function memberText(line: string, wanted: string): string {
  const reader = new JsonReader(line)
  let found = ''
  reader.object(name => {
    const value = reader.skip()
    if (name === wanted) found = value
  })
  return found
}

function readFolder(path: string): Seed {
  const text = readFileSync(join(path, manifestName), 'utf8')
  const { containers } = JSON.parse(text) as {
    containers: { database: string; container: string; file: string; definition?: Named; [name: string]: unknown }[]
  }
  const list = containers.map((each): SeedContainer => {
    const { database, container, file, definition = {}, api, partitionKey } = each
    // A missing file is reported before anything is loaded.
    statSync(join(path, file))
    const source = { name: file, open: (start: number) => createReadStream(join(path, file), { start }) }
    const given = { ...definition, api, partitionKey, id: container }
    return { ...described(database, given, path), rows: () => readRows(source, {}) }
  })
  const databases = [...new Set(list.map(({ database }) => database))]
  return { path, databases, containers: list, digest: digestOf(text) }
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

const rowsAtOnce = 500

async function* batchOf(texts: readonly PlacedText[]): AsyncGenerator<ImportBatch<InputPlace>> {
  for (let from = 0; from < texts.length; from += rowsAtOnce) {
    const rows = texts.slice(from, from + rowsAtOnce).map(({ text, line }): InputRow => {
      return { line, bytes: Buffer.from(text), end: 0, endLine: line }
    })
    const format = { format: 'json', compression: 'none', state: {} } as const
    yield { rows, from, end: { ...format, offset: 0, line: 0, rows: from + rows.length } }
  }
}
