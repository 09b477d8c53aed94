/**
 * What the cursor of a pipeline needs to leave out the dead: the collections that it reads, and who of their
 * documents is alive when a batch is made.
 */

import type { IsAlive, Origin } from '../../document/bson/origin.ts'
import { livingPart, originsIn } from '../../document/bson/traced-values.ts'
import type { Engine } from '../../engine/engine.ts'
import type { DocumentBatch } from '../../mql/stages/stage.ts'
import type { Collection } from '../collections/collections.ts'
import { WatchedLives } from './watched-lives.ts'

export class LivesOfCursor {
  readonly #engine: Engine
  readonly #watched = new Map<number, WatchedLives>()

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /** Documents of this collection will be held. */
  watch(collection: Collection): void {
    const { number } = collection.container
    if (!this.#watched.has(number)) this.#watched.set(number, new WatchedLives(this.#engine, collection))
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
