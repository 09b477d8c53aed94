/**
 * Reads the operands of date operators. Object ids and timestamps count as dates; zones are names or offsets.
 */

import { bsonType } from '../../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../../document/bson/value.ts'
import { MongoError } from '../../errors/mongo-error.ts'
import { isNullish, nameOfType, refuse } from '../core/define-operator.ts'
import type { Context, Evaluate } from '../core/scope.ts'
import { type TimeZone, timeZoneNamed, utc } from './time-zone.ts'

/** Milliseconds since 1970 of a date, timestamp or object id. */
export function momentOf(value: Value | undefined): bigint | undefined {
  switch (value?.type) {
    case bsonType.date:
      return value.value
    case bsonType.timestamp:
      return (value.value >> 32n) * 1000n
    case bsonType.objectId: {
      const [a, b, c, d] = value.value
      return BigInt(a! * 2 ** 24 + b! * 2 ** 16 + c! * 2 ** 8 + d!) * 1000n
    }
    default:
      return undefined
  }
}

export function requireMoment(value: Value | undefined): bigint {
  return momentOf(value) ?? refuse(16006, `can't convert from BSON type ${nameOfType(value)} to Date`)
}

/** The time zone, or undefined if it is null. */
export function zoneOf(operand: Evaluate | undefined, context: Context): TimeZone | undefined {
  if (operand === undefined) return utc
  const value = operand(context)
  if (isNullish(value)) return undefined
  if (value.type !== bsonType.string) refuse(40517, `timezone must evaluate to a string, found ${nameOfType(value)}`)
  return timeZoneNamed(value.value)
}

export function requireDocument(argument: Value, code: number, message: string): BsonDocument {
  return argument.type === bsonType.document ? argument : refuse(code, message)
}

/** Returns the value of `onError`, if given, when a conversion fails. */
export function orElse(
  onError: Evaluate | undefined,
  context: Context,
  convert: () => Value | undefined,
): Value | undefined {
  if (onError === undefined) return convert()
  try {
    return convert()
  } catch (error) {
    if (error instanceof MongoError && error.code === 241) return onError(context)
    throw error
  }
}
