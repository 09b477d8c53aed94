/** Corrects the stamps of items and log entries that were written while the clock was ahead by mistake. */

import type { DatabaseSync } from 'node:sqlite'
import type { EpochSeconds } from '../../base/clock.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { noItemLives } from '../../store/policy.ts'
import { noFindings } from '../index-findings.ts'
import { restamped, type Stamped } from '../restamped.ts'
import type { OpenContainer } from './catalog.ts'
import { itemTable } from './file/schema.ts'

interface Pass {
  readonly ahead: number
  readonly moment: EpochSeconds
  readonly rowsMax: number
  readonly hasFixedDeadlines: (container: ContainerRecord) => boolean
}

/**
 * The log of a deleted container is kept for a day. If its end is more than a week away, a wrong clock has
 * set it.
 */
const keptSecondsMax = 7 * 86_400

export class SqliteRestamping {
  readonly #db: DatabaseSync
  /** The next step continues behind this item of this container. A restart begins with the first again. */
  #container = 0
  #sequence = 0

  constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** Must run inside the writer's transaction. Returns false when all containers are done. */
  step(containers: readonly OpenContainer[], pass: Pass): boolean {
    const { ahead, moment } = pass
    const next = containers
      .filter(({ record }) => record.number >= this.#container)
      .sort((a, b) => a.record.number - b.record.number)[0]
    if (next === undefined) {
      this.#db
        .prepare('UPDATE kept_logs SET until = max(until - ?, ?) WHERE until > ?')
        .run(ahead, moment, moment + keptSecondsMax)
      this.#container = 0
      this.#sequence = 0
      return false
    }
    const { number } = next.record
    if (number !== this.#container) this.#sequence = 0
    this.#container = number
    const reached = this.#items(next, pass)
    if (reached !== undefined) this.#sequence = reached
    else if (!this.#log(number, pass)) this.#container = number + 1
    return true
  }

  /** Returns how far it got; undefined: to the end. */
  #items({ record, entries }: OpenContainer, { ahead, moment, rowsMax, hasFixedDeadlines }: Pass): number | undefined {
    const table = itemTable(record.number)
    const rows = this.#db
      .prepare(`SELECT sequence, ts FROM ${table} WHERE sequence > ? ORDER BY sequence LIMIT ?`)
      .all(this.#sequence, rowsMax) as { sequence: number; ts: number }[]
    const correction = { ahead, moment, isDeadlineFixed: hasFixedDeadlines(record) }
    const read = this.#db.prepare(`SELECT pk, ts, deadline, body FROM ${table} WHERE sequence = ?`)
    const write = this.#db.prepare(`UPDATE ${table} SET ts = ?, deadline = ?, body = ? WHERE sequence = ?`)
    for (const { sequence } of rows.filter(({ ts }) => ts > moment)) {
      const before = read.get(sequence) as unknown as Stamped & { pk: string }
      const { ts, deadline, body } = restamped(before, correction)
      if (record.indexes.length > 0) {
        const change = { sequence, pk: before.pk, before: () => before.body, after: body }
        // A new stamp changes no unique key, so none is checked.
        entries.change(record.indexes, change, noItemLives, noFindings())
      }
      write.run(ts, deadline, body, sequence)
    }
    return rows.length < rowsMax ? undefined : rows.at(-1)!.sequence
  }

  /** False: no entry of the container is left. */
  #log(container: number, { ahead, moment, rowsMax }: Pass): boolean {
    const end = (ts: string) => `'"_ts":' || ${ts} || '}'`
    const stamp = 'min(ts - :ahead, :moment)'
    const { changes } = this.#db
      .prepare(
        `UPDATE log SET ts = ${stamp},
          body = CASE WHEN typeof(body) = 'text' AND substr(body, -length(${end('ts')})) = ${end('ts')}
            THEN substr(body, 1, length(body) - length(${end('ts')})) || ${end(stamp)} ELSE body END
         WHERE number IN (SELECT number FROM log WHERE container = :container AND ts > :moment LIMIT :rowsMax)`,
      )
      .run({ container, ahead, moment, rowsMax })
    return Number(changes) === rowsMax
  }
}
