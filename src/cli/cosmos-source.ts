/**
 * Reads a container of another Cosmos account, or of an emulator, over REST: pages of its feed, range after
 * range, with the place from which reading can go on.
 *
 * Each row gets the note of an export, with `expiresAt` computed from the item's own `ttl` or the
 * container's default. So its deadline is kept like that of a row in an exported file.
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

/**
 * Most attempts of a request that the account throttles or does not answer: for the first request, and for
 * later ones.
 */
const firstTriesMax = 3
const laterTriesMax = 30

export interface CosmosPlace {
  /** Ranges that were read to their end. */
  readonly rangesDone: readonly string[]
  readonly range: string | undefined
  readonly continuation: string | undefined
  readonly rows: number
}

export interface SourceName {
  readonly database: string
  readonly container: string
}

export interface SourceContainer {
  /** Differs for a later container of the same name, and for containers of other accounts. */
  readonly identity: string
  /** How many items it has, if the account says so. */
  readonly count: number | undefined
  batches(after: CosmosPlace | undefined): AsyncIterable<ImportBatch<CosmosPlace>>
}

interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
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
    const endpoint = parts.get('AccountEndpoint') ?? ''
    this.#endpoint = endpoint.endsWith('/') ? endpoint : `${endpoint}/`
    this.#key = parts.get('AccountKey') ?? ''
    if (!URL.canParse(endpoint) || !/^https?:/.test(endpoint) || this.#key === '') {
      throw new RequestError('malformed', '--from takes a connection string: AccountEndpoint=https://…;AccountKey=…;')
    }
  }

  async open({ database, container }: SourceName): Promise<SourceContainer> {
    const link = `dbs/${database}/colls/${container}`
    const headers = { 'x-ms-documentdb-populatequotainfo': 'true' }
    const answer = await this.#get(link, 'colls', link, { headers, triesMax: firstTriesMax })
    const { _rid, defaultTtl = null } = this.#parsed<{ _rid?: string; defaultTtl?: number | null }>(answer)
    const usage = /(?:^|;)documentsCount=(\d+)/.exec(answer.headers.get('x-ms-resource-usage') ?? '')
    const count = Number(usage?.[1] ?? 0)
    return {
      identity: `${this.#endpoint} ${link} ${_rid}`,
      // The account's count may be old: a container with count 0 can have items now.
      count: count > 0 ? count : undefined,
      batches: after => this.#batches(link, defaultTtl, after),
    }
  }

  async *#batches(
    link: string,
    defaultTtl: number | null,
    after: CosmosPlace | undefined,
  ): AsyncGenerator<ImportBatch<CosmosPlace>> {
    const answer = await this.#get(`${link}/pkranges`, 'pkranges', link, { triesMax: laterTriesMax })
    const { PartitionKeyRanges: ranges } = this.#parsed<{ PartitionKeyRanges: { id: string }[] }>(answer)
    const done = [...(after?.rangesDone ?? [])]
    let rows = after?.rows ?? 0
    for (const { id: range } of ranges) {
      if (done.includes(range)) continue
      let continuation = after?.range === range ? after.continuation : undefined
      do {
        const headers = {
          'x-ms-documentdb-partitionkeyrangeid': range,
          'x-ms-max-item-count': String(pageItems),
          ...(continuation !== undefined && { 'x-ms-continuation': continuation }),
        }
        const answer = await this.#get(`${link}/docs`, 'docs', link, { headers, triesMax: laterTriesMax })
        const readAt = Math.floor(Date.parse(answer.headers.get('date') ?? '') / 1000)
        const items = itemsIn(answer.text)
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

  async #get(
    path: string,
    type: string,
    link: string,
    { headers = {}, triesMax }: { readonly headers?: Readonly<Record<string, string>>; readonly triesMax: number },
  ): Promise<Answer> {
    const url = new URL(path.split('/').map(encodeURIComponent).join('/'), this.#endpoint)
    for (let tries = 1; ; tries++) {
      let answer: Answer | undefined
      let failure: unknown
      try {
        const response = await fetch(url, { headers: { ...this.#signed(type, link), ...headers } })
        answer = { status: response.status, headers: response.headers, text: await response.text() }
      } catch (error) {
        failure = error
      }
      if (answer?.status === 200) return answer
      const isPassing = answer === undefined || [408, 429, 449, 503].includes(answer.status)
      if (!isPassing || tries === triesMax) {
        throw new Unreachable(`${this.#endpoint} cannot be read: ${refusalOf(answer, failure)}.`, failure)
      }
      const waitMs = Number(answer?.headers.get('x-ms-retry-after-ms') ?? 1000)
      await new Promise<void>(resolve => machine.setTimeout(resolve, waitMs))
    }
  }

  #parsed<T>({ text }: Answer): T {
    try {
      return JSON.parse(text) as T
    } catch (error) {
      throw new Unreachable(`${this.#endpoint} does not answer as an account of Cosmos DB does.`, error)
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

/** The status and the first line of the message, or why there is no answer. */
function refusalOf(answer: Answer | undefined, failure: unknown): string {
  if (answer === undefined) {
    const { message } = ((failure as Error).cause ?? failure) as Error
    return message === '' ? 'it does not answer' : `it does not answer (${message})`
  }
  const { status, text } = answer
  const [line = ''] = messageIn(text).split(/[\r\n]/, 1)
  return `${status} ${line.slice(0, 300)}`.trim().replace(/\.$/, '')
}

/** Not every server answers with JSON. */
function messageIn(text: string): string {
  try {
    return (JSON.parse(text) as { message?: string }).message ?? text
  } catch {
    return text
  }
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
