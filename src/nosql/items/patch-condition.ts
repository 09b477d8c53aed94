/** The condition of a patch: `from c where …`, a filter in the query language that the item must match. */

import type { EpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import type { ShortWork } from '../../base/short-work.ts'
import { HoldWatch, WorkTooLong, watched } from '../../base/work.ts'
import type { Engine } from '../../engine/engine.ts'
import { PreparedQueries, type PreparedQuery } from '../../sql/prepare.ts'
import { runQueryOver } from '../../sql/run.ts'
import { malformed } from '../definitions/definition-input.ts'

const conditions = new PreparedQueries()

const selection = 'SELECT * '

function prepareCondition(condition: string): PreparedQuery {
  const prepared = conditions.prepare(selection + condition)
  const { where, groupBy, orderBy, offset, limit } = prepared.query
  const isFilter = where !== undefined && [groupBy, orderBy, offset, limit].every(clause => clause === undefined)
  // INFERRED: the service does not document this text.
  if (!isFilter) malformed("The condition of a patch must have the form 'from c where ...'.")
  return prepared
}

/**
 * Whether an item meets the condition of a patch. Called within the transaction, while all other requests
 * wait. `version` is that of the stored item.
 */
export type JudgeCondition = (text: string, at: { readonly moment: EpochSeconds; readonly version: number }) => boolean

function meets(condition: PreparedQuery, text: string, moment: EpochSeconds): boolean {
  return runQueryOver(condition, { momentMs: moment * 1000 }, [JSON.parse(text)]).length > 0
}

/** Judges within the time that a request with several operations has for all of them. */
export function shortJudge(condition: string, work: ShortWork) {
  const prepared = prepareCondition(condition)
  return (text: string, { moment }: { readonly moment: EpochSeconds }): boolean =>
    work.do('The condition of the patch', () => meets(prepared, text, moment))
}

/** Thrown when the condition takes long for this item. Never sent to a client. */
export class LongCondition extends RequestError {
  readonly version: number
  readonly text: string

  constructor(version: number, text: string) {
    super('unsupported', 'The condition takes too long here.')
    this.version = version
    this.text = text
  }
}

/** The longest time that a condition may hold this thread. For an ordinary item it takes microseconds. */
const holdMsMax = 4

/**
 * Judges a condition that may take long. If it does, it is evaluated in another thread. The result is
 * remembered for this version of the item, and the transaction begins again.
 */
export class PatientJudge {
  readonly #condition: string
  readonly #prepared: PreparedQuery
  #known: { readonly version: number; readonly isMet: boolean } | undefined

  constructor(condition: string) {
    this.#condition = condition
    this.#prepared = prepareCondition(condition)
  }

  readonly judge: JudgeCondition = (text, { moment, version }) => {
    if (this.#known?.version === version) return this.#known.isMet
    try {
      return watched(new HoldWatch(holdMsMax), () => meets(this.#prepared, text, moment))
    } catch (error) {
      throw error instanceof WorkTooLong ? new LongCondition(version, text) : error
    }
  }

  async judgeElsewhere(engine: Engine, { version, text }: LongCondition, signal: AbortSignal): Promise<void> {
    const statement = { language: 'sql' as const, text: `SELECT VALUE 1 ${this.#condition}`, parameters: new Map() }
    const rows = await engine.evaluate(statement, [text], signal)
    this.#known = { version, isMet: rows.length > 0 }
  }
}
