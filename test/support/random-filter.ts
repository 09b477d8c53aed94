/** Random filters, and documents that they may match. */

import { bsonType } from '../../src/document/bson/types.ts'
import { BsonArray, BsonDocument, bool, type Field, int32, type Value } from '../../src/document/bson/value.ts'
import type { RandomBson } from './random-bson.ts'

const allPaths = ['a', 'b', 'c', 'a.b', 'a.0', 'a.1', 'a.b.c', 'a.0.b', 'a.b.0', 'b.c', '0', 'a.0.0', 'a.a', 'c.1.a']

export class RandomFilter {
  readonly #source: RandomBson
  readonly #paths: readonly string[]

  constructor(source: RandomBson, paths: readonly string[] = allPaths) {
    this.#source = source
    this.#paths = paths
  }

  /** Half of them have any shape, half have arrays of documents and of arrays, which are rare otherwise. */
  documents(count: number): BsonDocument[] {
    const source = this.#source
    return Array.from({ length: count }, (_, at) => {
      if (at % 2 === 0) {
        const names = ['a', 'b', 'c', '0'].filter(() => source.random(4) > 0)
        return BsonDocument.of(names.map(name => [name, source.value(3)]))
      }
      const element = () =>
        source.oneOf([() => source.document(2), () => source.value(1), () => BsonArray.of([source.value(1)])])()
      return BsonDocument.of([
        ['a', BsonArray.of(Array.from({ length: source.random(4) }, element))],
        ['b', source.value(1)],
      ])
    })
  }

  /** A value for a comparison. Regular expressions and undefined have another meaning in a filter. */
  operand(): Value {
    for (;;) {
      const value = this.#source.value(2)
      if (value.type !== bsonType.regex && value.type !== bsonType.undefined) return value
    }
  }

  filter(depth = 2): BsonDocument {
    const source = this.#source
    const fields: Field[] = []
    for (let left = 1 + source.random(3); left > 0; left -= 1) {
      if (depth > 0 && source.random(6) === 0) {
        const filters = Array.from({ length: 1 + source.random(2) }, () => this.filter(depth - 1))
        fields.push([source.oneOf(['$and', '$or', '$nor']), BsonArray.of(filters)])
      } else {
        fields.push([source.oneOf(this.#paths), this.#condition(depth)])
      }
    }
    return BsonDocument.of(fields)
  }

  #operands(countMax: number): BsonArray {
    return BsonArray.of(Array.from({ length: this.#source.random(countMax + 1) }, () => this.operand()))
  }

  #condition(depth: number): Value {
    const source = this.#source
    const comparison = () => source.oneOf(['$eq', '$gt', '$gte', '$lt', '$lte', '$ne'])
    const one = (operator: string, operand: Value) => BsonDocument.of([[operator, operand]])
    switch (source.random(depth > 0 ? 12 : 9)) {
      case 0:
        return this.operand()
      case 1:
        return one('$in', this.#operands(3))
      case 2:
        return one('$exists', bool(source.random(2) === 0))
      case 3:
        return one('$size', int32(source.random(4)))
      case 4:
        return one('$type', int32(source.oneOf([1, 2, 3, 4, 7, 8, 10, 16, 18, 19])))
      case 5:
        return one('$mod', BsonArray.of([int32(source.oneOf([2, 3, -2])), int32(source.random(2))]))
      case 6:
        return one(source.oneOf(['$all', '$nin']), this.#operands(2))
      case 7:
        return BsonDocument.of([
          [comparison(), this.operand()],
          [comparison(), this.operand()],
        ])
      case 8:
        return one(comparison(), this.operand())
      case 9:
        return one('$not', one(source.oneOf(['$gt', '$eq', '$lte']), this.operand()))
      case 10:
        return one('$elemMatch', this.filter(depth - 1))
      default:
        return one('$elemMatch', one(source.oneOf(['$gt', '$eq', '$lt', '$gte']), this.operand()))
    }
  }
}
