/**
 * Writes a group of single writes: one call of the function in PostgreSQL, retried when the connection or a
 * race was lost.
 *
 * PostgreSQL knows the stamps and fills them into the bodies. It cannot do that if a stamp is printed in a
 * form that it does not know, or if an index looks at stamps. Such a group is not written here: the gateway
 * has to print the stamps, as it does in transactions, and that takes one more round trip.
 */

import type { PoolClient } from 'pg'
import { CapacityError } from '../../../base/error.ts'
import type { KeyMaker } from '../../../document/index-keys.ts'
import type { ContainerRecord, IndexRecord } from '../../../store/catalog.ts'
import type { ItemWrite, WriteAnswer } from '../../../store/writing.ts'
import { type IndexFindings, isNothing, noFindings } from '../../index-findings.ts'
import type { PostgresCatalog } from '../catalog/catalog.ts'
import { noteFindings } from '../catalog/catalog-changes.ts'
import { Attempts } from '../connection/attempts.ts'
import { abandon, type Connections, pipelined } from '../connection/connections.ts'
import { gone, isConflict, isLocked, isLost, translate, uncertain } from '../connection/errors.ts'
import type { Moments } from '../connection/moments.ts'
import type { PostgresJournal } from '../reading/journal.ts'
import { entriesOfDraft } from '../rows/entry-keys.ts'
import { canBeMarked, openBody } from '../rows/stamp-forms.ts'
import type { CallNumbers } from './call-numbers.ts'
import type { PlacedWrite } from './waiting.ts'
import { answerOf, type CallAnswer, parseAnswer } from './write-answer.ts'
import { type CallPart, deletion, type Instruction, instruction, writeQuery } from './write-call.ts'

/** Where a group goes. */
interface GroupTarget {
  readonly container: ContainerRecord
  /** Where its calls leave their receipts. */
  readonly slot: number
  /** Whether it waits for locks that others hold, and is retried when it lost against them. */
  readonly isPatient: boolean
}

/** What became of a group. */
type GroupResult =
  | { readonly kind: 'written'; readonly answers: readonly WriteAnswer[] }
  /** Nothing was written: only the gateway can print these stamps. */
  | { readonly kind: 'unstampable' }
  /** Nothing was written: others were in the way, and the group is not patient. */
  | { readonly kind: 'blocked' }

interface Prepared {
  readonly parts: readonly CallPart[]
  readonly indexesVersion: number
  readonly findings: IndexFindings
}

interface GroupWriterParts {
  readonly connections: Connections
  readonly catalog: PostgresCatalog
  readonly moments: Moments
  readonly keysOf: KeyMaker
  readonly callNumbers: CallNumbers
  readonly journal: PostgresJournal
}

export class GroupWriter {
  readonly #connections: Connections
  readonly #catalog: PostgresCatalog
  readonly #moments: Moments
  readonly #keysOf: KeyMaker
  readonly #callNumbers: CallNumbers
  readonly #journal: PostgresJournal

  constructor({ connections, catalog, moments, keysOf, callNumbers, journal }: GroupWriterParts) {
    this.#journal = journal
    this.#connections = connections
    this.#catalog = catalog
    this.#moments = moments
    this.#keysOf = keysOf
    this.#callNumbers = callNumbers
  }

  /** The writes are sorted by bucket. The connection is given back. */
  async write(target: GroupTarget, writes: readonly PlacedWrite[], firstSession: PoolClient): Promise<GroupResult> {
    const { container, slot } = target
    const callNumber = this.#callNumbers.next()
    let session: PoolClient | undefined = firstSession
    // A call was lost: nobody knows whether it took effect. From then on only its receipt can tell.
    let wasLost = false
    const attempts = new Attempts()
    for (;;) {
      try {
        session ??= await this.#connections.acquire()
        const prepared = this.#prepare(container, writes)
        if (prepared === undefined) {
          session.release()
          return { kind: 'unstampable' }
        }
        const isPatient = target.isPatient || wasLost
        const answer = await this.#call(session, prepared, { ...target, callNumber, isRetry: wasLost, isPatient })
        session.release()
        session = undefined
        if (answer.kind === 'written') {
          this.#journal.saw(answer.tick)
          return { kind: 'written', answers: writes.map(({ write }, index) => answerOf(answer, index, write)) }
        }
        if (answer.kind === 'learned') await this.#catalog.settle()
        await this.#catalog.refresh()
        if (answer.kind === 'gone') throw gone(container)
      } catch (error) {
        if (session !== undefined) await abandon(session, error)
        session = undefined
        wasLost ||= isLost(error)
        if (!target.isPatient && !wasLost && (isConflict(error) || isLocked(error))) return { kind: 'blocked' }
        const mayRetry = isLost(error) || isConflict(error) || (wasLost && error instanceof CapacityError)
        if (mayRetry && (await attempts.another())) continue
        if (wasLost) {
          this.#callNumbers.giveUp({ container: container.number, slot, callNumber, moment: this.#moments.own })
        }
        if (!mayRetry) throw error
        throw wasLost ? uncertain(error) : translate(error)
      }
    }
  }

  /**
   * `learned`: the keys of these writes taught something about an index. That was stored first, in a
   * transaction of its own; the writes are still to be sent.
   */
  async #call(
    session: PoolClient,
    { parts, indexesVersion, findings }: Prepared,
    { container, ...target }: GroupTarget & { readonly callNumber: number; readonly isRetry: boolean },
  ): Promise<CallAnswer | { readonly kind: 'learned' }> {
    const { number } = container
    if (!isNothing(findings)) {
      await pipelined(session, () => noteFindings(session, number, findings))
      return { kind: 'learned' }
    }
    const fence = this.#callNumbers.fence(session, number, parts[0]!.bucket)
    if (fence !== undefined) await fence
    const tick = this.#moments.tick()
    if (tick !== undefined) await tick
    const { gateway } = this.#callNumbers
    const call = { ...target, container: number, parts, gateway, isAtomic: false, indexesVersion }
    return parseAnswer((await session.query(writeQuery(call))).rows[0].answer)
  }

  /** undefined: PostgreSQL cannot fill in the stamps of these. */
  #prepare({ number }: ContainerRecord, writes: readonly PlacedWrite[]): Prepared | undefined {
    const { version, indexes } = this.#catalog.indexesOf(number)
    const findings = noFindings()
    const parts: { readonly bucket: number; readonly instructions: Instruction[] }[] = []
    for (const { bucket, write } of writes) {
      const prepared = this.#instruction(indexes, write, findings)
      if (prepared === undefined) return undefined
      const last = parts.at(-1)
      if (last?.bucket === bucket) last.instructions.push(prepared)
      else parts.push({ bucket, instructions: [prepared] })
    }
    const bodies = parts.flatMap(({ instructions }) => instructions.map(({ body }) => body))
    return canBeMarked(bodies) ? { parts, indexesVersion: version, findings } : undefined
  }

  #instruction(indexes: readonly IndexRecord[], write: ItemWrite, findings: IndexFindings): Instruction | undefined {
    if (write.kind === 'delete') return deletion(write.key, write)
    const body = openBody(write.draft)
    const entries = entriesOfDraft(this.#keysOf, indexes, { pk: write.key.pk, draft: write.draft }, findings)
    return body && entries && instruction(write.key, write, body, entries)
  }
}
