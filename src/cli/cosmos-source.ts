/**
 * Reads a container of another Cosmos account, or of an emulator, over REST: pages of its feed, range after
 * range, with the place from which reading can go on.
 *
 * Rows get the note of an export: `expiresAt` by the item's own `ttl` or the container's default. So lives go
 * on as they do from a file.
 */

import { createHmac } from 'node:crypto'
import { machine } from '../base/clock.ts'
import { RequestError } from '../base/error.ts'
import { JsonReader } from '../document/json-reader.ts'
import type { ImportBatch } from '../transfer/import-rows.ts'
import type { InputRow } from '../transfer/input.ts'
import { exportProperty } from '../transfer/keep-ttl.ts'
import { isTtl } from '../ttl/lifespan.ts'
import { Unreachable } from './server-connection.ts'

/** Rows of one request. */
const pageItems = 1000

/** How often a request is tried that the account throttles or does not answer. */
const triesMax = 30

export interface CosmosPlace {
  /** Ranges that are read. */
  readonly rangesDone: readonly string[]
  readonly range: string | undefined
  readonly continuation: string | undefined
  readonly rows: number
}

export interface SourceContainer {
  readonly id: string
  readonly partitionKey?: { readonly paths: readonly string[] }
  readonly defaultTtl?: number | null
}

export class CosmosAccount {
  readonly #endpoint: string
  readonly #key: string

  /** `AccountEndpoint=https://…;AccountKey=…;` */
  constructor(connectionString: string) {
    const parts = new Map(
      connectionString.split(';').flatMap(part => {
        const at = part.indexOf('=')
        return at === -1 ? [] : [[part.slice(0, at).trim(), part.slice(at + 1).trim()] as const]
      }),
    )
    this.#endpoint = parts.get('AccountEndpoint') ?? ''
    this.#key = parts.get('AccountKey') ?? ''
    if (!URL.canParse(this.#endpoint) || this.#key === '') {
      throw new RequestError('malformed', '--from takes a connection string: AccountEndpoint=https://…;AccountKey=…;')
    }
  }

  async container(database: string, container: string): Promise<SourceContainer> {
    const link = linkOf(database, container)
    return (await (await this.#get(link, 'colls', link)).json()) as SourceContainer
  }

  async *batches(
    database: string,
    container: string,
    after: CosmosPlace | undefined,
  ): AsyncGenerator<ImportBatch<CosmosPlace>> {
    const link = linkOf(database, container)
    const { defaultTtl = null } = await this.container(database, container)
    const ranges = await (await this.#get(`${link}/pkranges`, 'pkranges', link)).json()
    const ids = (ranges as { PartitionKeyRanges: { id: string }[] }).PartitionKeyRanges.map(({ id }) => id)
    const done = [...(after?.rangesDone ?? [])]
    let rows = after?.rows ?? 0
    for (const range of ids) {
      if (done.includes(range)) continue
      let continuation = after?.range === range ? after.continuation : undefined
      do {
        const answer = await this.#get(`${link}/docs`, 'docs', link, {
          'x-ms-documentdb-partitionkeyrangeid': range,
          'x-ms-max-item-count': String(pageItems),
          ...(continuation !== undefined && { 'x-ms-continuation': continuation }),
        })
        const readAt = Math.floor(Date.parse(answer.headers.get('date') ?? '') / 1000)
        const items = itemsIn(await answer.text())
        continuation = answer.headers.get('x-ms-continuation') ?? undefined
        if (continuation === undefined) done.push(range)
        const input = items.map((item, at): InputRow => {
          return { line: rows + at + 1, bytes: rowOf(item, defaultTtl, readAt), end: 0, endLine: 0 }
        })
        const end = { rangesDone: [...done], range, continuation, rows: rows + items.length }
        if (input.length > 0) yield { rows: input, from: rows, end }
        rows += items.length
      } while (continuation !== undefined)
    }
  }

  async #get(path: string, type: string, link: string, headers: Readonly<Record<string, string>> = {}) {
    const url = new URL(path.split('/').map(encodeURIComponent).join('/'), withSlash(this.#endpoint))
    for (let tries = 1; ; tries++) {
      let response: Response | undefined
      let failure: unknown
      try {
        response = await fetch(url, { headers: { ...this.#signed(type, link), ...headers } })
      } catch (error) {
        failure = error
      }
      if (response?.ok === true) return response
      const isPassing = response === undefined || [408, 429, 449, 503].includes(response.status)
      if (!isPassing || tries === triesMax) {
        const why =
          response === undefined ? 'it does not answer' : `${response.status} ${(await response.text()).slice(0, 300)}`
        throw new Unreachable(`${this.#endpoint} cannot be read: ${why}.`, failure)
      }
      const waitMs = Number(response?.headers.get('x-ms-retry-after-ms') ?? 1000)
      await new Promise<void>(resolve => machine.setTimeout(resolve, waitMs))
    }
  }

  #signed(type: string, link: string): Record<string, string> {
    const date = new Date(machine.epochMs()).toUTCString()
    const text = `get\n${type}\n${link}\n${date.toLowerCase()}\n\n`
    const signature = createHmac('sha256', Buffer.from(this.#key, 'base64')).update(text).digest('base64')
    return {
      authorization: encodeURIComponent(`type=master&ver=1.0&sig=${signature}`),
      'x-ms-date': date,
      'x-ms-version': '2020-07-15',
    }
  }
}

function linkOf(database: string, container: string): string {
  return `dbs/${database}/colls/${container}`
}

function withSlash(url: string): string {
  return url.endsWith('/') ? url : `${url}/`
}

/** The items of a page as they are written: JSON.parse would move names and round numbers. */
function itemsIn(page: string): string[] {
  const items: string[] = []
  const reader = new JsonReader(page)
  reader.object(name => {
    if (name !== 'Documents') reader.skip()
    else reader.array(() => items.push(reader.skip()))
  })
  return items
}

function rowOf(text: string, defaultTtl: number | null, readAt: number): Buffer {
  const item = JSON.parse(text) as Record<string, unknown>
  const own = isTtl(item.ttl) ? item.ttl : undefined
  const ttl = defaultTtl === null ? -1 : (own ?? defaultTtl)
  const expiresAt = ttl > 0 ? Number(item._ts) + ttl : undefined
  if (expiresAt === undefined || Number.isNaN(readAt)) return Buffer.from(text)
  const note = { exportedAt: readAt, expiresAt }
  const end = text.lastIndexOf('}')
  return Buffer.from(`${text.slice(0, end)},${JSON.stringify(exportProperty)}:${JSON.stringify(note)}}`)
}
