/**
 * The pages of another account that were sent and whose answer is not known: `FILE.import.0` and `.1`.
 *
 * Rows that are sent again must be the same ones: the server counts those that it has stored. An account that
 * is asked again for a page may give another one, because items have died meanwhile. So a page is written to
 * the disk before it is sent. While one is stored, the next one is read: there are two files.
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

  /** The page of this import that begins behind so many rows, if it was written. */
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
