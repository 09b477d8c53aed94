/** `$limit`, `$skip`, `$count` and `$sample`. */

import { exactInteger, isNumeric } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, int32, int64, type Value } from '../../document/bson/value.ts'
import { printElement } from '../errors/print.ts'
import { namedArguments, refuse } from '../expressions/core/define-operator.ts'
import { Memory, refuseSortMemory } from './memory.ts'
import { type CompileStage, documentBytes, encoded, forEachDocument, inBatches, type Stage } from './stage.ts'

/** The operand: a number of documents. */
function countOf(spec: Value, name: string, code: number): number {
  const problem = `invalid argument to ${name} stage:`
  const printed = printElement(name, spec)
  if (!isNumeric(spec)) return refuse(code, `${problem} Expected a number in: ${printed}`)
  const count = exactInteger(spec) ?? refuse(code, `${problem} Expected an integer: ${printed}`)
  if (count < 0n) refuse(code, `${problem} Expected a non-negative number in: ${printed}`)
  // No collection has so many documents that the lost precision matters.
  return Math.min(Number(count), Number.MAX_SAFE_INTEGER)
}

export function limitOf(spec: Value): number {
  const limit = countOf(spec, '$limit', 5107201)
  return limit > 0 ? limit : refuse(15958, 'the limit must be positive')
}

export function skipOf(spec: Value): number {
  return countOf(spec, '$skip', 5107200)
}

export function limit(count: number): Stage {
  return {
    name: '$limit',
    async *run(input) {
      let left = count
      for await (const batch of input) {
        yield left < batch.length ? batch.slice(0, left) : batch
        left -= batch.length
        if (left <= 0) return
      }
    },
  }
}

export function skip(count: number): Stage {
  return {
    name: '$skip',
    async *run(input) {
      let left = count
      for await (const batch of input) {
        if (left < batch.length) yield left > 0 ? batch.slice(left) : batch
        left = Math.max(0, left - batch.length)
      }
    },
  }
}

export const limitStage: CompileStage = spec => limit(limitOf(spec))

export const skipStage: CompileStage = spec => skip(skipOf(spec))

function countValue(count: number): Value {
  return count <= 2147483647 ? int32(count) : int64(BigInt(count))
}

export const countStage: CompileStage = (spec, _, name) => {
  const field = spec.type === bsonType.string ? spec.value : refuse(40156, 'the count field must be a non-empty string')
  if (field === '') refuse(40157, 'the count field must be a non-empty string')
  if (field.startsWith('$')) refuse(40158, 'the count field cannot be a $-prefixed path')
  if (field.includes('\0')) refuse(40159, 'the count field cannot contain a null byte')
  if (field.includes('.')) refuse(40160, "the count field cannot contain '.'")
  return {
    name,
    async *run(input) {
      let count = 0
      for await (const batch of input) count += batch.length
      if (count > 0) yield [BsonDocument.of([[field, countValue(count)]])]
    },
  }
}

export const sampleStage: CompileStage = (spec, { scope }, name) => {
  if (spec.type !== bsonType.document) return refuse(28745, 'the $sample stage specification must be an object')
  const { size } = namedArguments(spec, ['size'], unknown =>
    refuse(28748, `unrecognized option to $sample: ${unknown}`),
  )
  if (size === undefined) return refuse(28749, '$sample stage must specify a size')
  if (!isNumeric(size)) return refuse(28746, 'size argument to $sample must be a number')
  const wanted = Number(exactInteger(size) ?? 0n)
  if (wanted < 0) refuse(28747, 'size argument to $sample must not be negative')
  const { random } = scope.constants
  return {
    name,
    /** Reservoir sampling: every document is equally likely to be kept. */
    async *run(input, { slice }) {
      const kept: BsonDocument[] = []
      using memory = new Memory(refuseSortMemory)
      let seen = 0
      await forEachDocument(input, slice, document => {
        const slot = kept.length < wanted ? kept.length : Math.floor(random() * (seen + 1))
        seen += 1
        if (slot >= wanted) return
        const own = encoded(document)
        memory.add(documentBytes(own).length - (kept[slot] === undefined ? 0 : documentBytes(kept[slot]).length))
        kept[slot] = own
      })
      yield* inBatches(shuffled(kept, random), slice)
    },
  }
}

function shuffled(documents: readonly BsonDocument[], random: () => number): readonly BsonDocument[] {
  const mixed = [...documents]
  for (let at = mixed.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1))
    const [a, b] = [mixed[at]!, mixed[other]!]
    mixed[at] = b
    mixed[other] = a
  }
  return mixed
}
