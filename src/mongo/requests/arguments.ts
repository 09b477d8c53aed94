/** Reads the fields of a command in place, and reports missing or mistyped fields in MongoDB's words. */

import { stepsInHeavyTurns } from '../../base/heavy-turns.ts'
import { printDecimal, unpackDecimal } from '../../document/bson/decimal128.ts'
import { bsonType, isNumberType, typeName } from '../../document/bson/types.ts'
import {
  bsonCommandDepthMax,
  bsonStepsBytesMin,
  validateDocument,
  validateInSteps,
} from '../../document/bson/validate.ts'
import { type BsonArray, type BsonDocument, type Value, valueAt } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { CommandError } from '../answers/command-error.ts'

/**
 * The most fields of a command, or of a document in it that is read like a command. No command knows as
 * many. Each field is compared with those that the command knows.
 */
const mongoArgumentsMax = 1000

/** Checks the body of a large message: other work has turns meanwhile. */
export async function checkInTurns(body: Uint8Array, by: object): Promise<void> {
  const options = { end: body.length, depthMax: bsonCommandDepthMax }
  if (body.length < bsonStepsBytesMin) validateDocument(body, options)
  else await stepsInHeavyTurns(validateInSteps(body, options), by)
}

export class Arguments {
  /** Named in error messages: the command, or the path of a part of it. */
  readonly owner: string
  readonly bytes: Uint8Array
  readonly #names: string[] = []
  readonly #types: number[] = []
  readonly #starts: number[] = []

  /** The bytes must be valid BSON. */
  constructor(bytes: Uint8Array, start = 0, owner?: string) {
    const cursor = new ElementCursor(bytes, start)
    while (cursor.next()) {
      if (this.#names.length === mongoArgumentsMax) {
        throw new CommandError('BadValue', `A command may have at most ${mongoArgumentsMax} fields.`)
      }
      this.#names.push(cursor.name())
      this.#types.push(cursor.type)
      this.#starts.push(cursor.valueStart)
    }
    this.bytes = bytes
    this.owner = owner ?? this.#names[0] ?? ''
  }

  /** `isChecked`: the body is known to be valid BSON. */
  static ofMessage(body: Uint8Array, isChecked = false): Arguments {
    if (!isChecked) validateDocument(body, { end: body.length, depthMax: bsonCommandDepthMax })
    return new Arguments(body)
  }

  /** The first field of a command names it. */
  get name(): string {
    return this.#names[0] ?? ''
  }

  get names(): readonly string[] {
    return this.#names
  }

  has(name: string): boolean {
    return this.#names.includes(name)
  }

  value(name: string): Value | undefined {
    const at = this.#names.indexOf(name)
    return at === -1 ? undefined : valueAt(this.bytes, this.#types[at]!, this.#starts[at]!)
  }

  /** Null counts as absent, as in MongoDB's optional fields. */
  present(name: string): Value | undefined {
    const value = this.value(name)
    return value?.type === bsonType.null || value?.type === bsonType.undefined ? undefined : value
  }

  required(name: string): Value {
    return this.present(name) ?? this.#refuseMissing(name)
  }

  string(name: string): string | undefined {
    const value = this.present(name)
    if (value === undefined) return undefined
    return value.type === bsonType.string ? value.value : this.#refuseType(name, value, 'string')
  }

  requiredString(name: string): string {
    return this.string(name) ?? this.#refuseMissing(name)
  }

  document(name: string): BsonDocument | undefined {
    const value = this.present(name)
    if (value === undefined) return undefined
    return value.type === bsonType.document ? value : this.#refuseType(name, value, 'object')
  }

  requiredDocument(name: string): BsonDocument {
    return this.document(name) ?? this.#refuseMissing(name)
  }

  /** The fields of a nested document. */
  within(name: string): Arguments | undefined {
    const at = this.#names.indexOf(name)
    return this.document(name) === undefined
      ? undefined
      : new Arguments(this.bytes, this.#starts[at]!, `${this.owner}.${name}`)
  }

  array(name: string): BsonArray | undefined {
    const value = this.present(name)
    if (value === undefined) return undefined
    return value.type === bsonType.array ? value : this.#refuseType(name, value, 'array')
  }

  requiredArray(name: string): BsonArray {
    return this.array(name) ?? this.#refuseMissing(name)
  }

  /** The documents of an array. */
  documents(name: string): BsonDocument[] | undefined {
    return this.array(name)?.elements.map((element, index) =>
      element.type === bsonType.document ? element : this.#refuseType(`${name}.${index}`, element, 'object'),
    )
  }

  /** Flags may be numbers: the old shell sent them so. */
  boolean(name: string): boolean | undefined {
    const value = this.present(name)
    if (value === undefined) return undefined
    if (value.type === bsonType.bool) return value.value
    const number = numberOf(value)
    return number === undefined
      ? this.#refuseType(name, value, '[bool, long, int, decimal, double]', 'types')
      : number !== 0
  }

  flag(name: string): boolean {
    return this.boolean(name) ?? false
  }

  number(name: string): number | undefined {
    const value = this.present(name)
    if (value === undefined) return undefined
    return numberOf(value) ?? this.#refuseType(name, value, '[long, int, decimal, double]', 'types')
  }

  /** A whole number from 0 on. A fraction is cut off, as in MongoDB. */
  count(name: string): number | undefined {
    const number = this.number(name)
    if (number === undefined) return undefined
    if (Number.isNaN(number)) return 0
    if (number < 0) {
      throw new CommandError(
        'BadValue',
        `BSON field '${name}' value must be >= 0, actual value '${Math.trunc(number)}'`,
      )
    }
    return Math.min(Math.trunc(number), Number.MAX_SAFE_INTEGER)
  }

  /** A whole number, of which the sign does not count. A fraction is cut off. */
  magnitude(name: string): number | undefined {
    const number = this.number(name)
    if (number === undefined) return undefined
    return Number.isNaN(number) ? 0 : Math.min(Math.trunc(Math.abs(number)), Number.MAX_SAFE_INTEGER)
  }

  int64(name: string): bigint | undefined {
    const value = this.present(name)
    if (value === undefined) return undefined
    if (value.type === bsonType.int64) return value.value
    const number = numberOf(value)
    return number === undefined || !Number.isSafeInteger(number)
      ? this.#refuseType(name, value, 'long')
      : BigInt(number)
  }

  refuseUnknown(known: ReadonlySet<string>, from = 0): void {
    for (let at = from; at < this.#names.length; at++) {
      const name = this.#names[at]!
      if (!known.has(name)) {
        throw new CommandError(40415, `BSON field '${this.owner}.${name}' is an unknown field.`)
      }
    }
  }

  #refuseMissing(name: string): never {
    throw new CommandError(40414, `BSON field '${this.owner}.${name}' is missing but a required field`)
  }

  #refuseType(name: string, value: Value, expected: string, word = 'type'): never {
    throw new CommandError(
      'TypeMismatch',
      `BSON field '${this.owner}.${name}' is the wrong type '${typeName(value.type)}', expected ${word} '${expected}'`,
    )
  }
}

/** A number of any of the four types as a JavaScript number. It may lose digits. */
export function numberOf(value: Value): number | undefined {
  if (!isNumberType(value.type)) return undefined
  switch (value.type) {
    case bsonType.double:
    case bsonType.int32:
      return value.value
    case bsonType.int64:
      return Number(value.value)
    case bsonType.decimal128:
      return Number(printDecimal(unpackDecimal(value)))
    default:
      return undefined
  }
}
