/** The file of rows that an import refused: `FILE.refused.jsonl`, a line of JSON for each. */

import { closeSync, existsSync, fsyncSync, ftruncateSync, openSync, rmSync, writeSync } from 'node:fs'
import type { InputRow } from '../transfer/input.ts'
import type { RefusedRow } from '../transfer/target.ts'
import { notWritable } from './durable-file.ts'

/** Most characters of a refused row that are written. */
const shownCharsMax = 20_000

export class RefusedRows {
  readonly path: string
  #bytes: number
  #file: number | undefined

  /** `bytes`: the length at the last checkpoint. Later lines are cut off: their rows are sent again. */
  constructor(path: string, bytes: number) {
    this.path = path
    this.#bytes = bytes
    if (bytes === 0) rmSync(path, { force: true })
    else if (existsSync(path)) {
      this.#file = openSync(path, 'r+')
      ftruncateSync(this.#file, bytes)
    }
  }

  get bytes(): number {
    return this.#bytes
  }

  add(refused: readonly RefusedRow[], rows: readonly InputRow[]): void {
    if (refused.length === 0) return
    const byLine = new Map(rows.map(row => [row.line, row]))
    const lines = refused.map(({ line, reason }) => {
      const text = byLine.get(line)?.bytes.toString('utf8') ?? ''
      const isCut = text.length > shownCharsMax
      return JSON.stringify({ line, reason, text: text.slice(0, shownCharsMax), ...(isCut && { isCut }) })
    })
    const bytes = Buffer.from(`${lines.join('\n')}\n`)
    try {
      this.#file ??= openSync(this.path, 'w')
      for (let done = 0; done < bytes.length; ) {
        done += writeSync(this.#file, bytes, done, bytes.length - done, this.#bytes + done)
      }
      fsyncSync(this.#file)
    } catch (error) {
      throw notWritable(this.path, error)
    }
    this.#bytes += bytes.length
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file)
  }
}
