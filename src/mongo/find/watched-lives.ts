/**
 * Judges documents of a collection that a cursor holds: which of them are alive, by the present moment and
 * policy.
 *
 * Where TTL indexes on dates were changed meanwhile, the deadlines that are held say nothing any more. Then
 * the documents are looked up; one that is not found has died or was deleted.
 */

import { RequestError } from '../../base/error.ts'
import { nextSlice } from '../../base/slices.ts'
import type { IsAlive, Origin } from '../../document/bson/origin.ts'
import type { Engine } from '../../engine/engine.ts'
import { areAllAlive, type EarliestLives, earlierOf, isOriginAlive, noLives } from '../../query/row-origins.ts'
import type { View } from '../../store/policy.ts'
import { livingAt } from '../../ttl/living.ts'
import { CommandError } from '../answers/command-error.ts'
import { type Collection, findCollection } from '../collections/collections.ts'
import { encodeSpec } from '../index-specs/index-spec.ts'

/** Documents that are looked up in one turn of the event loop: about a millisecond. */
const lookupsMax = 100

export class WatchedLives {
  readonly collection: Collection
  readonly #engine: Engine
  readonly #rules: string
  /** Whether documents are held with their origins. */
  readonly isTraced: boolean
  #untraced = noLives

  constructor(engine: Engine, collection: Collection, isTraced: boolean) {
    this.#engine = engine
    this.collection = collection
    this.#rules = deadlineRules(collection)
    this.isTraced = isTraced
  }

  /** Documents are held without their origins. */
  addUntraced(lives: EarliestLives): void {
    this.#untraced = earlierOf(this.#untraced, lives)
  }

  /**
   * Undefined if no document is dead. `held` gives the origins of all documents that will be asked about.
   */
  async judge(held: () => Iterable<Origin>): Promise<IsAlive | undefined> {
    using view = await this.#view()
    // The collection was dropped. Deleted documents are not dead, and may be shown.
    if (view === undefined) return undefined
    const living = livingAt(view.policy, view.moment)
    if (living.inheritedAfter < 0 && living.ownAfter < 0) return undefined
    const haveRulesChanged = await this.#haveRulesChanged()
    const isUntraced = Math.min(this.#untraced.writtenAt, this.#untraced.deadline) < Number.POSITIVE_INFINITY
    if (isUntraced && (haveRulesChanged || !areAllAlive(this.#untraced, living))) throw switchedOn(this.collection)
    if (!haveRulesChanged) return origin => isOriginAlive(origin, living)
    const alive = new Set<number>()
    let lookups = 0
    for (const { container, sequence } of held()) {
      if (container !== this.collection.container.number || alive.has(sequence)) continue
      // Others get a turn.
      if (++lookups % lookupsMax === 0) await nextSlice()
      if ((await this.#engine.findBySequence(this.collection.container, sequence)) !== undefined) alive.add(sequence)
    }
    return origin => alive.has(origin.sequence) || (origin.sequence === -1 && isOriginAlive(origin, living))
  }

  async #view(): Promise<View | undefined> {
    try {
      return await this.#engine.view(this.collection.container)
    } catch (error) {
      if (error instanceof RequestError) return undefined
      throw error
    }
  }

  async #haveRulesChanged(): Promise<boolean> {
    const { database, id, number } = this.collection.container
    const current = await findCollection(this.#engine, { database: database.id, collection: id })
    return current?.container.number === number && deadlineRules(current) !== this.#rules
  }
}

/** Some of the held documents have died, and it is not known which. */
function switchedOn({ name }: Collection): CommandError {
  return new CommandError(
    'QueryPlanKilled',
    `Expiry was switched on for ${name} while the cursor was open. Run the command again.`,
  )
}

/** What the stored deadlines of documents follow from. */
function deadlineRules({ definition, dateRules }: Collection): string {
  return definition.deadlines === 'dates' ? dateRules.map(encodeSpec).sort().join() : 'ttl'
}
