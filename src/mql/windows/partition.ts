/** One partition of `$setWindowFields`, as window functions see it: documents in order, by their index. */

import { comingFrom } from '../../document/bson/traced-values.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { keptValue } from '../accumulators/kept-value.ts'
import { type Context, type Evaluate, tracedValue } from '../expressions/core/scope.ts'

/** Counts bytes against the limit of the stage. A negative number frees them. */
export interface MemoryCount {
  add(bytes: number): void
}

const nothing = BsonDocument.of([])

export class WindowPartition {
  readonly size: number
  readonly memory: MemoryCount
  /** The sort keys of the documents, without the partition. */
  readonly sortKeys: readonly Uint8Array[]
  readonly #documents: readonly BsonDocument[]
  readonly #context: Context
  readonly #sortField: Evaluate | undefined
  readonly #sortValues: (Value | undefined)[] = []

  constructor(
    documents: readonly BsonDocument[],
    {
      sortKeys,
      context,
      sortField,
      memory,
    }: {
      readonly sortKeys: readonly Uint8Array[]
      readonly context: Context
      readonly sortField: Evaluate | undefined
      readonly memory: MemoryCount
    },
  ) {
    this.size = documents.length
    this.memory = memory
    this.sortKeys = sortKeys
    this.#documents = documents
    this.#context = context
    this.#sortField = sortField
  }

  evaluate<T>(evaluate: (context: Context) => T, index: number): T {
    return evaluate(this.#context.at(this.#documents[index]!))
  }

  /** The value of an expression for a document, with the origin of that document. */
  value(evaluate: Evaluate, index: number): Value | undefined {
    const document = this.#documents[index]!
    const value = tracedValue(evaluate, this.#context.at(document))
    return value && comingFrom(value, document.origin)
  }

  /** The value of an expression that no document can change. */
  constant(evaluate: Evaluate): Value | undefined {
    return evaluate(this.#context.at(nothing))
  }

  /** The value of the only field of `sortBy`. Computed once: windows compare it again and again. */
  sortValue(index: number): Value | undefined {
    if (!(index in this.#sortValues)) this.#sortValues[index] = this.evaluate(this.#sortField!, index)
    return this.#sortValues[index]
  }
}

/** The input of a function for each document. It is computed once, and held until it is released. */
export class Inputs {
  readonly #partition: WindowPartition
  readonly #evaluate: Evaluate
  readonly #values: ({ readonly value: Value | undefined; readonly bytes: number } | undefined)[] = []

  constructor(partition: WindowPartition, evaluate: Evaluate) {
    this.#partition = partition
    this.#evaluate = evaluate
  }

  at(index: number): Value | undefined {
    const known = this.#values[index]
    if (known !== undefined) return known.value
    const value = this.#partition.value(this.#evaluate, index)
    const kept = value === undefined ? { value, bytes: 0 } : keptValue(value)
    this.#partition.memory.add(kept.bytes)
    this.#values[index] = kept
    return kept.value
  }

  release(index: number): void {
    this.#partition.memory.add(-(this.#values[index]?.bytes ?? 0))
    this.#values[index] = undefined
  }
}
