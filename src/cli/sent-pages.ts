/**
 * Stores pages of another account until the server has answered them: `FILE.import.0` and `.1`.
 *
 * Rows that are sent again must be the same, because the server counts the rows that it has stored. The
 * other account may answer the same request with another page, because items have died meanwhile. So a page
 * is written to the disk before it is sent. There are two files, because the next page is read while one is
 * sent.
 */

import { existsSync, readFileSync, rmSync } from 'node:fs'
import type { ImportBatch } from '../transfer/import-rows.ts'
import type { CosmosPlace } from './cosmos-source.ts'
import { writeDurably } from './durable-file.ts'

interface StoredPage {
  readonly job: string
  readonly from: number
  readonly end: CosmosPlace
  readonly rows: readonly string[]
}

export class SentPages {
  readonly #paths: readonly [string, string]
  #last: 0 | 1 = 1

  constructor(path: string) {
    this.#paths = [`${path}.0`, `${path}.1`]
  }

  write(job: string, { rows, from, end }: ImportBatch<CosmosPlace>): void {
    this.#last = this.#last === 0 ? 1 : 0
    const page: StoredPage = { job, from, end, rows: rows.map(({ bytes }) => bytes.toString('utf8')) }
    writeDurably(this.#paths[this.#last], JSON.stringify(page))
  }

  /** The stored page of this import that begins after this number of rows. */
  read(job: string, from: number): ImportBatch<CosmosPlace> | undefined {
    for (const at of [0, 1] as const) {
      const path = this.#paths[at]
      if (!existsSync(path)) continue
      const page = JSON.parse(readFileSync(path, 'utf8')) as StoredPage
      if (page.job !== job || page.from !== from) continue
      this.#last = at
      const rows = page.rows.map((row, index) => {
        return { line: from + index + 1, bytes: Buffer.from(row), end: 0, endLine: 0 }
      })
      return { rows, from, end: page.end }
    }
    return undefined
  }

  remove(): void {
    for (const path of this.#paths) rmSync(path, { force: true })
  }
}
