/**
 * What the cursor of a pipeline needs to leave out the dead: the collections that it reads, and which of
 * their documents are alive when a batch is made.
 */

import type { IsAlive, Origin } from '../../document/bson/origin.ts'
import { livingPart, originsIn } from '../../document/bson/traced-values.ts'
import type { Engine } from '../../engine/engine.ts'
import type { DocumentBatch } from '../../mql/stages/stage.ts'
import { isExpiryOn } from '../../store/policy.ts'
import type { Collection } from '../collections/collections.ts'
import { WatchedLives } from './watched-lives.ts'

export class LivesOfCursor {
  readonly #engine: Engine
  /** The pipeline reads everything before it gives a result. */
  readonly #collects: boolean
  readonly #watched = new Map<number, WatchedLives>()

  constructor(engine: Engine, { collects }: { readonly collects: boolean }) {
    this.#engine = engine
    this.#collects = collects
  }

  /**
   * Called when documents of this collection will be held. Their origins are kept (`isTraced`) if expiry is
   * on. If it is off, no document dies, and keeping origins would only cost. If expiry is then switched on,
   * a pipeline that collects everything first goes on while all its documents are alive, and fails
   * otherwise. A pipeline that gives results while it reads always keeps origins: it would fail because of
   * documents that it has given long ago.
   */
  watch(collection: Collection): WatchedLives {
    const { number, policy } = collection.container
    const isTraced = isExpiryOn(policy) || !this.#collects
    const watched = this.#watched.get(number) ?? new WatchedLives(this.#engine, collection, isTraced)
    this.#watched.set(number, watched)
    return watched
  }

  /** What may be shown of documents now. The same batch, if all of it may. */
  async living(batch: DocumentBatch): Promise<DocumentBatch> {
    if (batch.length === 0) return batch
    function* held(): Generator<Origin> {
      for (const document of batch) yield* originsIn(document)
    }
    const judges = new Map<number, IsAlive>()
    for (const [number, watched] of this.#watched) {
      const isAlive = await watched.judge(held)
      if (isAlive !== undefined) judges.set(number, isAlive)
    }
    if (judges.size === 0) return batch
    const isAlive = (origin: Origin): boolean =>
      judges.get(origin.container)?.(origin) !== false && (origin.and === undefined || isAlive(origin.and))
    return batch.flatMap(document => livingPart(document, isAlive) ?? [])
  }
}
