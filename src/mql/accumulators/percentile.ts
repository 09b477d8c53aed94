/**
 * `$percentile` and `$median`. MongoDB estimates them from a digest. Here they are exact: the number in the
 * sorted list on whose place the percentile falls. NaN and values that are no numbers do not count.
 */

import { isNumeric, toDouble } from '../../document/bson/number.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { BsonArray, double, nullValue, type Value } from '../../document/bson/value.ts'
import { namedArguments, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import type { Compiler, Evaluate } from '../expressions/core/scope.ts'
import type { Accumulator } from './accumulator.ts'
import { smallBytes } from './basic.ts'

export interface PercentileArguments {
  readonly input: Evaluate
  /** From 0 to 1. */
  readonly places: readonly number[]
  /** The result of `$median` is one number, that of `$percentile` an array. */
  readonly isMedian: boolean
}

/** Parses the arguments of the accumulators, the expressions and the window functions. */
export function percentileArguments(argument: Value, compiler: Compiler, name: string): PercentileArguments {
  const isMedian = name === '$median'
  if (argument.type !== bsonType.document) {
    const found = printForMessage(argument)
    return refuse(isMedian ? 7436100 : 7429703, `specification must be an object; found ${name}: ${found}`)
  }
  const known = isMedian ? (['input', 'method'] as const) : (['input', 'method', 'p'] as const)
  const specs: Partial<Record<'input' | 'method' | 'p', Value>> = namedArguments(argument, known, unknown =>
    refuse(40415, `BSON field '${name}.${unknown}' is an unknown field.`),
  )
  for (const field of known) {
    if (specs[field] === undefined) refuse(40414, `BSON field '${name}.${field}' is missing but a required field`)
  }
  checkMethod(specs.method!, name)
  return {
    input: compiler.compile(specs.input!),
    places: isMedian ? [0.5] : placesOf(specs.p!, compiler),
    isMedian,
  }
}

function checkMethod(method: Value, name: string): void {
  if (method.type !== bsonType.string) {
    const is = `is the wrong type '${typeName(method.type)}'`
    refuse(14, `BSON field '${name}.method' ${is}, expected type 'string'`)
  }
  if (method.type !== bsonType.string || method.value === 'approximate') return
  refuse(2, "Currently only 'approximate' can be used as percentile 'method'.")
}

function placesOf(spec: Value, compiler: Compiler): readonly number[] {
  const problem = "The $percentile 'p' field must be an array of"
  const constant = compiler.constant(spec)
  if (constant === undefined) {
    return refuse(7750300, `${problem} constant values, but found value: ${printForMessage(spec)}.`)
  }
  const list = constant.value
  if (list?.type !== bsonType.array || list.elements.length === 0) {
    return refuse(7750301, `${problem} numbers from [0.0, 1.0], but found: ${printForMessage(list)}`)
  }
  return list.elements.map(element => {
    const found = `${problem} numbers from [0.0, 1.0], but found: ${printForMessage(element)}`
    if (!isNumeric(element)) return refuse(7750302, found)
    const place = toDouble(element)
    return place >= 0 && place <= 1 ? place : refuse(7750303, found)
  })
}

/** The index of a percentile in a sorted list. */
function indexOfPlace(place: number, count: number): number {
  return Math.max(0, Math.ceil(count * place) - 1)
}

/** The result, from the number at each index of the sorted list. */
export function percentilesOf(
  { places, isMedian }: PercentileArguments,
  count: number,
  at: (index: number) => number,
): Value {
  const found = places.map(place => (count === 0 ? nullValue : double(at(indexOfPlace(place, count)))))
  return isMedian ? found[0]! : BsonArray.of(found)
}

/** The value as a number, if it counts. */
export function countedNumber(value: Value | undefined): number | undefined {
  if (!isNumeric(value)) return undefined
  const number = toDouble(value)
  return Number.isNaN(number) ? undefined : number
}

export class Percentile implements Accumulator {
  readonly isOpen = true
  readonly #asked: PercentileArguments
  readonly #numbers: number[] = []

  constructor(asked: PercentileArguments) {
    this.#asked = asked
  }

  get bytes(): number {
    return smallBytes + 8 * this.#numbers.length
  }

  take(value: Value | undefined): void {
    const number = countedNumber(value)
    if (number !== undefined) this.#numbers.push(number)
  }

  result(): Value {
    const sorted = Float64Array.from(this.#numbers).sort()
    return percentilesOf(this.#asked, sorted.length, index => sorted[index]!)
  }
}
