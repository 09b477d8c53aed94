/**
 * The progress of an import, stored so that the import can continue after any interruption without losing or
 * doubling a row.
 *
 * Every transaction that writes rows also stores how many rows of the import are done. A client that lost an
 * answer sends its rows again, and gets the earlier outcomes of the rows that are done. Only the outcomes of
 * the last call are stored, because a client sends its next rows after an answer.
 */

import { RequestError } from '../base/error.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey } from '../store/item.ts'
import type { Step } from '../store/writing.ts'
import type { Engine } from './engine.ts'
import { itemKey } from './item-key.ts'

/** How long after an interruption an import can continue. */
const importMemorySeconds = 7 * 86_400

/** What was done with a row. */
export type RowOutcome = 'created' | 'replaced' | 'skipped' | 'dead' | 'refused'

export interface RowAnswer {
  readonly outcome: RowOutcome
  /** Why the row was refused. */
  readonly reason?: string
}

const letters = { created: 'c', replaced: 'r', skipped: 's', dead: 'd', refused: 'x' } satisfies Record<
  RowOutcome,
  string
>
const outcomes = new Map(Object.entries(letters).map(([outcome, letter]) => [letter, outcome as RowOutcome]))

/** The stored form. */
interface StoredLedger {
  /** The container into which the import goes. */
  readonly container: number
  /** The number of the first row of the last call. */
  readonly from: number
  /** A letter for each row of the last call that is done. */
  readonly outcomes: string
  readonly reasons: Readonly<Record<string, string>>
}

export class ImportLedger {
  readonly #container: ContainerRecord
  readonly #system: ContainerRecord
  readonly #key: ItemKey
  #stored: string | undefined
  #state: StoredLedger
  /** The state that the running step stores. */
  #next: StoredLedger | undefined
  #nextText: string | undefined

  private constructor(
    container: ContainerRecord,
    system: ContainerRecord,
    key: ItemKey,
    stored: string | undefined,
    from: number,
  ) {
    this.#container = container
    this.#system = system
    this.#key = key
    this.#stored = stored
    this.#state = stored === undefined ? this.#begin(from) : (JSON.parse(stored) as StoredLedger)
  }

  /** Opens the ledger of an import whose next row has the number `from`. */
  static async open(engine: Engine, container: ContainerRecord, job: string, from: number): Promise<ImportLedger> {
    const system = await engine.systemItems.container('imports', importMemorySeconds)
    const key = itemKey(system, [job], 'import')
    const item = await engine.systemItems.find(system, key)
    const ledger = new ImportLedger(container, system, key, item?.body as string | undefined, from)
    if (item === undefined && from > 0) {
      throw new RequestError(
        'position_gone',
        'The server does not know this import. Its last rows came more than seven days ago, or the server has ' +
          'other data. Begin the import again.',
      )
    }
    ledger.#check(from)
    return ledger
  }

  #begin(from: number): StoredLedger {
    return { container: this.#container.number, from, outcomes: '', reasons: {} }
  }

  #check(from: number): void {
    const { container, from: first, outcomes } = this.#state
    if (container !== this.#container.number) {
      throw new RequestError('position_gone', 'The container was deleted and made again since the import began.')
    }
    if (from < first || from > first + outcomes.length) {
      throw new RequestError(
        'position_gone',
        `The import continues at row ${first + outcomes.length}. Send the rows from there on, not from ${from}.`,
      )
    }
  }

  /**
   * Begins a new call whose first row has this number. Returns the answers of the rows of the call that are
   * done already.
   */
  doneFrom(from: number): RowAnswer[] {
    const { from: first, outcomes: done, reasons } = this.#state
    const answers = [...done.slice(from - first)].map((letter, index): RowAnswer => {
      const reason = reasons[from + index]
      return { outcome: outcomes.get(letter)!, ...(reason !== undefined && { reason }) }
    })
    this.#state = {
      ...this.#begin(from),
      outcomes: done.slice(from - first),
      reasons: answers.length > 0 ? reasons : {},
    }
    return answers
  }

  /** The step that stores the answers of the next rows. It runs after them, when their answers are known. */
  step(answersOf: () => readonly RowAnswer[]): Step {
    const { from, outcomes, reasons } = this.#state
    return {
      container: this.#system,
      key: this.#key,
      decide: found => {
        if (found?.body !== this.#stored) {
          throw new RequestError('precondition_failed', 'Another client continues this import at the same time.')
        }
        const answers = answersOf()
        const added = answers.map(({ outcome }) => letters[outcome]).join('')
        const why = answers.flatMap(({ reason }, index) =>
          reason === undefined ? [] : [[from + outcomes.length + index, reason] as const],
        )
        this.#next = {
          container: this.#container.number,
          from,
          outcomes: outcomes + added,
          reasons: { ...reasons, ...Object.fromEntries(why) },
        }
        this.#nextText = JSON.stringify(this.#next)
        return { kind: 'upsert', draft: { texts: [this.#nextText], stamps: [] }, ttl: undefined }
      },
    }
  }

  /** Called when the step is committed. */
  advance(): void {
    this.#state = this.#next!
    this.#stored = this.#nextText
  }
}
