/**
 * Background work in bounded steps: sweeps, giving the room of removed data back, and correcting the stamps
 * of items that were written while the clock was ahead.
 */

import type { ContainerRecord } from '../../store/catalog.ts'
import type { Store } from '../../store/port.ts'
import { livingAt } from '../../ttl/living.ts'
import { noConsequences, type WriteConsequences } from './consequences.ts'
import { FreePages } from './file/free-pages.ts'
import type { StoreParts } from './parts.ts'
import { SqliteRestamping } from './restamp.ts'

export class Upkeep {
  readonly #parts: StoreParts
  readonly #consequences: WriteConsequences
  readonly #freePages: FreePages
  readonly #restamping: SqliteRestamping

  constructor(parts: StoreParts, consequences: WriteConsequences) {
    this.#parts = parts
    this.#consequences = consequences
    this.#freePages = new FreePages(parts.db)
    this.#restamping = new SqliteRestamping(parts.db)
  }

  sweep(container: ContainerRecord, rowsMax: number) {
    const { turns, catalog, views, log } = this.#parts
    return turns.write(
      moment => {
        const open = catalog.requireContainer(container)
        const { record, items, purge } = open
        const sure = turns.sureAt(moment)
        const living = views.holdBack(record.number, livingAt(record.policy, sure))
        let deaths = 0
        const swept = this.#consequences.within(open, living, consequences => {
          if (consequences === noConsequences) return purge.sweep(living, rowsMax, undefined)
          return purge.sweep(living, rowsMax, ({ key, sequence, version: before, body }) => {
            if (consequences.log !== undefined) {
              const version = items.pendingVersion + ++deaths
              const previous = { version: before, body }
              consequences.log({ kind: 'expire', key, sequence, version, ts: moment, body: undefined, previous })
            }
            consequences.updateEntries({ sequence, pk: key.pk, before: () => body, after: undefined })
          })
        })
        // A sweep that finds nothing writes nothing.
        if (swept.removed > 0) {
          turns.join(items)
          items.countSwept(swept.removed, deaths)
        }
        const entries = log.removeOld(record.number, sure - (record.logSeconds ?? 0), rowsMax)
        return { ...swept, done: swept.done && entries < rowsMax }
      },
      { freesRoom: true },
    )
  }

  async reclaim(rowsMax: number): Promise<boolean> {
    const { turns, catalog, disk } = this.#parts
    const isLeft = await turns.write(
      moment => catalog.reclaim(rowsMax, turns.sureAt(moment)) || this.#freePages.step(disk?.isFull === true),
      { freesRoom: true },
    )
    if (isLeft || disk?.prepare() === true) return true
    turns.cutQuietLog()
    return false
  }

  restamp(...[rowsMax, hasFixedDeadlines]: Parameters<Store['restamp']>): Promise<boolean> {
    const { turns, catalog, clock } = this.#parts
    // Asked once a second, and most of the time there is nothing.
    turns.readMoment()
    if (turns.ahead === null) return Promise.resolve(false)
    return turns.write(moment => {
      const { ahead } = turns
      // While the time is in doubt again, it is not known what lies in the future.
      if (ahead === null || clock.doubt?.kind === 'step') return false
      const isLeft = this.#restamping.step(catalog.openContainers(), { ahead, moment, rowsMax, hasFixedDeadlines })
      if (!isLeft) turns.forgetAhead()
      return isLeft
    })
  }
}
