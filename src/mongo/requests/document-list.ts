/**
 * Documents of a message: of a document sequence, or of an array in the body.
 *
 * There may be 100,000 of them. They are only measured at first, which takes about a millisecond, and each is
 * cut out when it is needed. They are not validated.
 */

import { bsonType } from '../../document/bson/types.ts'
import type { BsonArray } from '../../document/bson/value.ts'
import { ElementCursor, int32At } from '../../document/bson/view.ts'
import { CommandError } from '../answers/command-error.ts'
import type { DocumentSequence } from '../wire/op-msg.ts'

/** The shortest document: its length and a NUL. */
const emptyBytes = 5

/** No command takes as many. Counting stops here. */
const countMax = 1_000_000

export class DocumentList implements Iterable<Uint8Array> {
  readonly #bytes: Uint8Array
  readonly #starts: readonly number[]

  private constructor(bytes: Uint8Array, starts: readonly number[]) {
    this.#bytes = bytes
    this.#starts = starts
  }

  static ofSequence({ name, documents }: DocumentSequence): DocumentList {
    const starts: number[] = []
    for (let at = 0; at < documents.length && starts.length < countMax; ) {
      const bytes = documents.length - at >= emptyBytes ? int32At(documents, at) : 0
      if (bytes < emptyBytes || bytes > documents.length - at) {
        throw new CommandError('InvalidBSON', `The document sequence '${name}' holds something that is not a document`)
      }
      starts.push(at)
      at += bytes
    }
    return new DocumentList(documents, starts)
  }

  /** `refusal` makes the error for an element that is no document. */
  static ofArray({ raw }: BsonArray, refusal: () => Error): DocumentList {
    const starts: number[] = []
    const { bytes, start } = raw!
    const cursor = new ElementCursor(bytes, start)
    while (cursor.next() && starts.length < countMax) {
      if (cursor.type !== bsonType.document) throw refusal()
      starts.push(cursor.valueStart)
    }
    return new DocumentList(bytes, starts)
  }

  get length(): number {
    return this.#starts.length
  }

  at(index: number): Uint8Array {
    const start = this.#starts[index]!
    return this.#bytes.subarray(start, start + int32At(this.#bytes, start))
  }

  *[Symbol.iterator](): Generator<Uint8Array> {
    for (let index = 0; index < this.length; index++) yield this.at(index)
  }

  *entries(): Generator<[number, Uint8Array]> {
    for (let index = 0; index < this.length; index++) yield [index, this.at(index)]
  }
}
