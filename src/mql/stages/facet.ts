/** `$facet`: runs several pipelines over the same documents. Each result is an array. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Field, type Value } from '../../document/bson/value.ts'
import { keptValue } from '../accumulators/kept-value.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import { checkFieldName } from '../paths/expression-path.ts'
import { aggregationMemoryBytesMax, Memory } from './memory.ts'
import type { CompileStage, DocumentBatch, Stream, SubPipeline } from './stage.ts'

/**
 * Splits one stream into several that are read at the same pace. The next batch is fetched when all active
 * readers have asked for it, so at most one batch is held.
 */
class Fork {
  readonly #source: AsyncIterator<DocumentBatch>
  #reading: number
  #isEnded = false
  #waiting: ((result: Promise<IteratorResult<DocumentBatch>>) => void)[] = []

  constructor(source: Stream, readers: number) {
    this.#source = source[Symbol.asyncIterator]()
    this.#reading = readers
  }

  async *reader(): AsyncGenerator<DocumentBatch> {
    try {
      for (;;) {
        const { promise, resolve } = Promise.withResolvers<IteratorResult<DocumentBatch>>()
        this.#waiting.push(resolve)
        this.#serve()
        const result = await promise
        if (result.done === true) return
        yield result.value
      }
    } finally {
      this.#reading -= 1
      if (this.#reading === 0) await this.#source.return?.()
      else this.#serve()
    }
  }

  /** Called when one reader fails: the others stop, too. */
  async end(): Promise<void> {
    this.#isEnded = true
    this.#serve()
    await this.#source.return?.()
  }

  #serve(): void {
    if (this.#isEnded) {
      for (const resolve of this.#waiting) resolve(Promise.resolve({ done: true, value: undefined }))
      this.#waiting = []
      return
    }
    if (this.#waiting.length === 0 || this.#waiting.length < this.#reading) return
    const waiting = this.#waiting
    this.#waiting = []
    const next = this.#source.next()
    for (const resolve of waiting) resolve(next)
  }
}

interface Facet {
  readonly facet: string
  readonly pipeline: SubPipeline
}

export const facetStage: CompileStage = (spec, compiler, name) => {
  if (spec.type !== bsonType.document || spec.isEmpty) {
    return refuse(40169, `the $facet specification must be a non-empty object, but found: ${printForMessage(spec)}`)
  }
  const facets = spec.fields.map(([facet, stages]): Facet => {
    checkFieldName(facet)
    if (stages.type !== bsonType.array) {
      return refuse(40170, `arguments to $facet must be arrays, ${facet} is type ${nameOfType(stages)}`)
    }
    for (const stage of stages.elements) {
      if (stage.type === bsonType.document) continue
      const found = `${facet} argument contained an element of type ${nameOfType(stage)}: ${printForMessage(stage)}`
      refuse(40171, `elements of arrays in $facet spec must be non-empty objects, ${found}`)
    }
    return { facet, pipeline: compiler.pipeline(stages, { within: '$facet' }) }
  })
  return {
    name,
    async *run(input, run) {
      using memory = new Memory(
        () =>
          new MongoError(
            4031700,
            `document constructed by $facet is more than the limit of ${aggregationMemoryBytesMax} bytes`,
          ),
      )
      const fork = new Fork(input, facets.length)
      const collect = async ({ facet, pipeline }: Facet): Promise<Field> => {
        const documents: Value[] = []
        for await (const batch of pipeline.runOver(fork.reader(), run)) {
          for (const document of batch) {
            const { value, bytes } = keptValue(document)
            memory.add(bytes)
            documents.push(value)
          }
        }
        return [facet, BsonArray.of(documents)]
      }
      const collecting = facets.map(collect)
      try {
        yield [BsonDocument.of(await Promise.all(collecting))]
      } catch (error) {
        await fork.end()
        await Promise.allSettled(collecting)
        throw error
      }
    },
  }
}
