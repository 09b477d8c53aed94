/** The fields that a wildcard index takes or leaves. All that are named are taken, or all are left. */

import { isNumeric, toDouble } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'

export interface WildcardProjection {
  readonly isInclusion: boolean
  /** The paths, and whether each is taken. `_id` may be an exception to the others. */
  readonly named: ReadonlyMap<string, boolean>
}

export const everyField: WildcardProjection = { isInclusion: false, named: new Map() }

/** Reads a stored projection. It was checked before it was stored. */
export function readWildcardProjection(projection: BsonDocument): WildcardProjection {
  const named = new Map<string, boolean>()
  for (const [path, value] of leaves(projection, '')) {
    named.set(path, value.type === bsonType.bool ? value.value : !isNumeric(value) || toDouble(value) !== 0)
  }
  const isInclusion = [...named].some(([path, isTaken]) => path !== '_id' && isTaken)
  return { isInclusion, named }
}

/** Throws MongoDB's error if the projection is not one of a wildcard index. */
export function checkWildcardProjection(projection: BsonDocument): void {
  if (projection.isEmpty) {
    throw new CommandError('FailedToParse', "The 'wildcardProjection' field can't be an empty object")
  }
  for (const [path, value] of leaves(projection, '')) {
    const steps = path.split('.')
    if (steps.includes('')) throw refusal(40353, "FieldPath must not end with a '.'.")
    const isNamed = value.type === bsonType.bool || isNumeric(value)
    if (!isNamed || steps.some(step => step.startsWith('$'))) throw refusal(51271, computed)
  }
  const { named } = readWildcardProjection(projection)
  const others = [...named].filter(([path]) => path !== '_id')
  const isInclusion = others[0]?.[1] === true
  const odd = others.find(([, isTaken]) => isTaken !== isInclusion)
  if (odd === undefined) return
  throw isInclusion
    ? refusal(31254, `Cannot do exclusion on field ${odd[0]} in inclusion projection`)
    : refusal(31253, `Cannot do inclusion on field ${odd[0]} in exclusion projection`)
}

function* leaves(projection: BsonDocument, prefix: string): Generator<readonly [path: string, value: Value]> {
  for (const [name, value] of projection.fields) {
    if (value.type === bsonType.document && !value.isEmpty) yield* leaves(value, `${prefix}${name}.`)
    else yield [`${prefix}${name}`, value]
  }
}

const computed =
  'Bad projection specification, cannot use computed fields when parsing a spec in kBanComputedFields mode'

function refusal(code: number, reason: string): CommandError {
  return new CommandError(code, `Failed to parse projection: wildcardProjection :: caused by :: ${reason}`)
}
