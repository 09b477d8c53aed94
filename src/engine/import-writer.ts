/**
 * Writes imported rows into a container, many in one transaction.
 *
 * An edge reads a row and makes an item of it (`ImportEdge`). A row that cannot be stored is refused alone;
 * the others of its transaction are written. With a ledger, each row is done exactly once however often it
 * is sent.
 */

import { type EpochSeconds, machine } from '../base/clock.ts'
import { CapacityError, RequestError } from '../base/error.ts'
import { MiB } from '../base/limits.ts'
import { nextSlice } from '../base/slices.ts'
import { JsonTextError } from '../document/json-reader.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { Draft, ItemKey } from '../store/item.ts'
import type { ItemChange, Step, TransactAnswer } from '../store/writing.ts'
import type { InputRow } from '../transfer/input.ts'
import { type ImportAnswer, type ImportMode, type ImportTarget, noCounts, type RefusedRow } from '../transfer/target.ts'
import { writeRu } from '../units/cost.ts'
import type { Engine } from './engine.ts'
import { ImportLedger, type RowAnswer } from './import-ledger.ts'

/** One transaction, and one fsync: about 20 ms of the event loop. */
const groupRowsMax = 1000
const groupBytesMax = 1 * MiB

/** How long rows are read before other requests get a turn. */
const readMsMax = 10

/** The stored form of a row. */
export interface StoredForm {
  readonly draft: Draft
  /** As in `ItemChange`. */
  readonly ttl: number | undefined
  readonly until?: EpochSeconds | undefined
}

/** An item made of a row. */
export interface ImportItem {
  readonly key: ItemKey
  /** For the charge. */
  readonly bytes: number
  /** The form to store at this moment; undefined: the deadline of the item has passed. */
  storedAt(moment: EpochSeconds): StoredForm | undefined
}

/** An edge's part of an import: it reads the rows of a container, and writes its items. */
export interface ImportEdge {
  readonly container: ContainerRecord
  /** Throws a RequestError if the row cannot be an item. */
  read(row: Buffer): ImportItem
  /** The sentence that refuses a row whose key is taken. */
  readonly takenText: string
  transact(steps: readonly Step[], chargeRu: number): Promise<TransactAnswer>
}

export interface ImportWriterOptions {
  readonly mode: ImportMode
  /** Names the ledger of the import. Without one, rows that are sent again are written again. */
  readonly job?: string | undefined
  /** Ends the import while it waits for throughput. */
  readonly signal?: AbortSignal | undefined
}

/** A row of a group, its item unless the row is refused, and its answer. */
interface Candidate {
  readonly line: number
  readonly item: ImportItem | undefined
  answer: RowAnswer
}

const created: RowAnswer = { outcome: 'created' }
const replaced: RowAnswer = { outcome: 'replaced' }
const skipped: RowAnswer = { outcome: 'skipped' }
const dead: RowAnswer = { outcome: 'dead' }

export class ImportWriter implements ImportTarget {
  readonly #engine: Engine
  readonly #edge: ImportEdge
  readonly #options: ImportWriterOptions

  constructor(engine: Engine, edge: ImportEdge, options: ImportWriterOptions) {
    this.#engine = engine
    this.#edge = edge
    this.#options = options
  }

  prepare(rows: readonly InputRow[], from: number): () => Promise<ImportAnswer> {
    return () => this.put([rows], from)
  }

  /** A part is stored before the next one is asked for. */
  async put(
    parts: Iterable<readonly InputRow[]> | AsyncIterable<readonly InputRow[]>,
    from: number,
  ): Promise<ImportAnswer> {
    const { job } = this.#options
    const ledger =
      job === undefined ? undefined : await ImportLedger.open(this.#engine, this.#edge.container, job, from)
    const done = ledger?.doneFrom(from) ?? []
    const result = new Result(this.#edge.takenText)
    let row = 0
    for await (const rows of parts) {
      let at = 0
      for (; at < rows.length && row < done.length; at++, row++) result.add(rows[at]!.line, done[row]!)
      while (at < rows.length) {
        const group: Candidate[] = []
        let startMs = machine.monotonicMs()
        for (let bytes = 0; at < rows.length && hasRoom(group.length, bytes); at++, row++) {
          group.push(this.#candidate(rows[at]!))
          bytes += rows[at]!.bytes.length
          // Most groups are read at once, but a validator may take long for each row.
          if (machine.monotonicMs() - startMs <= readMsMax) continue
          await nextSlice()
          startMs = machine.monotonicMs()
        }
        await this.#write(group, ledger)
        for (const { line, answer } of group) result.add(line, answer)
        // Other requests get a turn between two groups.
        await nextSlice()
      }
    }
    return result
  }

  #candidate({ line, bytes, refusal }: InputRow): Candidate {
    if (refusal !== undefined) return { line, item: undefined, answer: { outcome: 'refused', reason: refusal } }
    try {
      return { line, item: this.#edge.read(bytes), answer: created }
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      const reason = error instanceof JsonTextError ? error.messageFrom(line) : error.message
      return { line, item: undefined, answer: { outcome: 'refused', reason } }
    }
  }

  /**
   * Most rows have no item at their key. So items are created without reading first. If a key is taken, the
   * group is tried again with reading. A row with a taken unique key is refused, and the group is tried
   * again without that row.
   */
  async #write(group: readonly Candidate[], ledger: ImportLedger | undefined): Promise<void> {
    let isBlind = this.#options.mode === 'create'
    for (;;) {
      const writes = group.filter(({ answer, item }) => item !== undefined && answer.outcome !== 'refused')
      const steps = writes.map(candidate => this.#step(candidate, isBlind))
      if (ledger !== undefined) steps.push(ledger.step(() => group.map(({ answer }) => answer)))
      if (steps.length === 0) return
      const chargeRu = writes.reduce((sum, { item }) => sum + writeRu(item!.bytes), 0)
      let answer: TransactAnswer
      try {
        answer = await this.#transact(steps, chargeRu)
      } catch (error) {
        if (!isAboutRow(error)) throw error
        if (writes.length > 1) return this.#writeHalves(group, ledger)
        writes[0]!.answer = { outcome: 'refused', reason: error.message }
        continue
      }
      const { steps: answered, refusal } = answer
      if (refusal === undefined) {
        ledger?.advance()
        return
      }
      if (refusal.error !== undefined && answered.length >= writes.length) throw refusal.error
      const refused = writes[refusal.error === undefined ? answered.length - 1 : answered.length]!
      if (refusal.error !== undefined) refused.answer = { outcome: 'refused', reason: refusal.error.message }
      else if (isBlind && answered.at(-1)!.outcome === 'exists') isBlind = false
      else refused.answer = { outcome: 'refused', reason: takenUniqueKeyText }
    }
  }

  /** Writes the halves of a group of which the store refuses a row, to find that row. */
  async #writeHalves(group: readonly Candidate[], ledger: ImportLedger | undefined): Promise<void> {
    const middle = Math.ceil(group.length / 2)
    await this.#write(group.slice(0, middle), ledger)
    await this.#write(group.slice(middle), ledger)
  }

  #step(candidate: Candidate, isBlind: boolean): Step {
    const { container, takenText } = this.#edge
    const { mode } = this.#options
    const item = candidate.item!
    return {
      container,
      key: item.key,
      isBlind,
      decide: (found, moment): ItemChange | undefined => {
        const stored = item.storedAt(moment)
        if (stored === undefined) {
          candidate.answer = dead
          return undefined
        }
        if (found !== undefined && mode !== 'upsert') {
          candidate.answer = mode === 'skip' ? skipped : { outcome: 'refused', reason: takenText }
          return undefined
        }
        candidate.answer = found === undefined ? created : replaced
        return { kind: found === undefined ? 'create' : 'replace', ...stored }
      },
    }
  }

  /** An import waits for throughput, as long as it takes. */
  async #transact(steps: readonly Step[], chargeRu: number): Promise<TransactAnswer> {
    for (;;) {
      try {
        return await this.#edge.transact(steps, chargeRu)
      } catch (error) {
        if (!(error instanceof CapacityError) || error.kind !== 'throttled') throw error
        if (this.#options.signal?.aborted === true) throw error
        await new Promise<void>(resolve => machine.setTimeout(resolve, Math.min(error.retryAfterMs, 1000)))
      }
    }
  }
}

/** Whether the store refuses a row, and not the whole import. */
function isAboutRow(error: unknown): error is RequestError {
  return error instanceof RequestError && (error.kind === 'malformed' || error.kind === 'too_large')
}

const takenUniqueKeyText = 'Another item has the same value of a unique key.'

/** Whether a group of so many rows and bytes takes one more row. */
export function hasRoom(rows: number, bytes: number): boolean {
  return rows < groupRowsMax && bytes < groupBytesMax
}

class Result implements ImportAnswer {
  readonly counts = noCounts()
  readonly refused: RefusedRow[] = []
  readonly #takenText: string

  constructor(takenText: string) {
    this.#takenText = takenText
  }

  add(line: number, { outcome, reason }: RowAnswer): void {
    this.counts[outcome]++
    if (outcome !== 'refused') return
    const isTaken = reason === this.#takenText
    this.refused.push({ line, reason: reason ?? '', ...(isTaken && { isTaken }) })
  }
}
