/** Writes of items: one at a time, in transactions of several steps, and rows that a transfer puts back. */

import type { StatementSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { draftLength } from '../../store/fill.ts'
import type { ItemKey, ScannedItem } from '../../store/item.ts'
import { type Living, noItemLives } from '../../store/policy.ts'
import type { ItemChange, ItemWrite, Step, StepAnswer, TransactAnswer, WriteAnswer } from '../../store/writing.ts'
import { livingAt } from '../../ttl/living.ts'
import { noFindings } from '../index-findings.ts'
import { livingItem } from '../verdict.ts'
import type { OpenContainer } from './catalog.ts'
import type { WriteConsequences } from './consequences.ts'
import type { Present, Written } from './items.ts'
import type { StoreParts } from './parts.ts'

function bytesOf(change: ItemChange): number {
  return change.kind === 'delete' ? 0 : draftLength(change.draft)
}

/** Whether the first step was refused, so that no step has done anything. */
function isFirstRefused({ steps, refusal }: TransactAnswer): boolean {
  return steps.length === (refusal?.error === undefined ? 1 : 0)
}

export class ItemWrites {
  readonly #parts: StoreParts
  readonly #consequences: WriteConsequences
  readonly #savepoint: { begin: StatementSync; undo: StatementSync; end: StatementSync }

  constructor(parts: StoreParts, consequences: WriteConsequences) {
    this.#parts = parts
    this.#consequences = consequences
    const { db } = parts
    this.#savepoint = {
      begin: db.prepare('SAVEPOINT transact'),
      undo: db.prepare('ROLLBACK TO transact'),
      end: db.prepare('RELEASE transact'),
    }
  }

  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer> {
    const { turns, catalog } = this.#parts
    return turns.write(
      moment => {
        const open = catalog.requireContainer(container)
        const { policy } = open.record
        return { moment, policy, ...this.#writeBlindly(open, livingAt(policy, moment), write.key, write, moment) }
      },
      { bytes: bytesOf(write) },
    )
  }

  transact(steps: readonly Step[]): Promise<TransactAnswer> {
    const { turns } = this.#parts
    const bytes = steps.reduce((sum, step) => sum + (step.bytes ?? 0), 0)
    const work = (moment: EpochSeconds, mustUndoAlone: boolean) => {
      // A single step needs no savepoint: if it is refused, it has done nothing.
      if (steps.length === 1) return this.#runSteps(steps, moment)
      const undo = mustUndoAlone ? this.#setSavepoint(steps) : () => turns.undo()
      let hasEnded = false
      try {
        const answer = this.#runSteps(steps, moment)
        hasEnded = answer.refusal === undefined || isFirstRefused(answer)
        return answer
      } finally {
        if (!hasEnded) undo()
        if (mustUndoAlone) this.#savepoint.end.run()
      }
    }
    return turns.write(work, { steps: steps.length, bytes })
  }

  putRows(container: ContainerRecord, rows: readonly ScannedItem[]): Promise<void> {
    const { turns, catalog } = this.#parts
    return turns.write(() => {
      const open = catalog.requireContainer(container)
      const { indexes } = open.record
      turns.join(open.items)
      const findings = noFindings()
      for (const row of rows) {
        open.items.putBack(row)
        const change = { sequence: row.sequence, pk: row.key.pk, before: undefined, after: row.body }
        // Unique keys were checked when the rows were written. They are not checked again.
        if (indexes.length > 0) open.entries.change(indexes, change, noItemLives, findings)
      }
      this.#consequences.storeFindings(open, findings)
    })
  }

  /** Returns a function that rolls back to this point. */
  #setSavepoint(steps: readonly Step[]): () => void {
    const { catalog } = this.#parts
    const containers = new Set(steps.map(({ container }) => catalog.requireContainer(container)))
    const counters = [...containers].map(({ items }) => items.savepoint())
    this.#savepoint.begin.run()
    return () => {
      this.#savepoint.undo.run()
      for (const restore of counters) restore()
    }
  }

  /** Runs the steps until one is refused. */
  #runSteps(steps: readonly Step[], moment: EpochSeconds): TransactAnswer {
    const answers: StepAnswer[] = []
    let version = 0
    for (const { container, key, decide, isBlind } of steps) {
      const open = this.#parts.catalog.requireContainer(container)
      const { items } = open
      const living = livingAt(open.record.policy, moment)
      const row = isBlind === true ? undefined : items.readRow(key)
      const found = livingItem(living, row)
      version = items.pendingVersion
      let change: ItemChange | undefined
      try {
        change = decide(found, moment)
      } catch (error) {
        if (!(error instanceof RequestError)) throw error
        return { moment, version, steps: answers, refusal: { error } }
      }
      if (change === undefined) {
        answers.push(found === undefined ? { outcome: 'missing' } : { outcome: 'found', item: found })
        continue
      }
      const {
        outcome,
        item,
        version: made,
      } = isBlind === true
        ? this.#writeBlindly(open, living, key, change, moment)
        : this.#write(open, living, key, row, change, moment)
      version = made
      answers.push(item === undefined ? { outcome } : { outcome, item })
      if (item === undefined && outcome !== 'deleted') {
        return { moment, version, steps: answers, refusal: { error: undefined } }
      }
    }
    return { moment, version, steps: answers }
  }

  /** Writes without having read the row at the key. Must run inside the writer's transaction. */
  #writeBlindly(open: OpenContainer, living: Living, key: ItemKey, change: ItemChange, moment: EpochSeconds): Written {
    const { items, record } = open
    const isIndexed = record.indexes.length > 0
    if (change.kind === 'create' && !isIndexed && record.logSeconds === null) {
      this.#parts.turns.join(items)
      this.#parts.turns.wrote(bytesOf(change))
      const created = items.createIfFree(key, change, moment)
      if (created !== undefined) return created
    }
    // The index keys of the replaced item are made from its body, so the body is read along with the row.
    const present = isIndexed && change.kind !== 'create' ? items.readRow(key) : items.readRowWithoutBody(key)
    return this.#write(open, living, key, present, change, moment)
  }

  /** Must run inside the writer's transaction. */
  #write(
    open: OpenContainer,
    living: Living,
    key: ItemKey,
    present: Present | undefined,
    change: ItemChange,
    moment: EpochSeconds,
  ) {
    this.#parts.turns.join(open.items)
    this.#parts.turns.wrote(bytesOf(change))
    return this.#consequences.within(open, living, consequences =>
      open.items.write(key, present, change, living, moment, consequences),
    )
  }
}
