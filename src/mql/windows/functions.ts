/** The table of window functions, and the parsing of their arguments. */

import { divideDecimals } from '../../document/bson/decimal-arithmetic.ts'
import type { Decimal } from '../../document/bson/decimal128.ts'
import { compareNumbers, isNumeric, toDecimal } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, type BsonDocument, int32, int64, nullValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { percentileArguments } from '../accumulators/percentile.ts'
import { keepNAccumulators, keepNArguments, topArguments } from '../accumulators/statement.ts'
import { collationOf, int32Of, int64Of, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import type { Compiler, Evaluate } from '../expressions/core/scope.ts'
import type { Unit } from '../expressions/dates/date-arithmetic.ts'
import { checkedPath, compilePath } from '../paths/expression-path.ts'
import type { Sort } from '../paths/sort-order.ts'
import { parseBounds, parseUnit, type WindowBounds, wholePartition } from './bounds.ts'
import { MovingExtreme, MovingSet } from './moving-extremes.ts'
import {
  MovingAverage,
  MovingCovariance,
  MovingDeviation,
  MovingIntegral,
  type MovingState,
  MovingSum,
} from './moving-sum.ts'
import {
  endsFunction,
  extremesFunction,
  firstFunction,
  lastFunction,
  percentileFunction,
  pushFunction,
  topFunction,
} from './positions.ts'
import {
  carriedFunction,
  derivativeFunction,
  documentNumber,
  linearFillFunction,
  movingAverageFunction,
  rankFunction,
  shiftFunction,
} from './sequences.ts'
import { movingFunction, type WindowFunction, type WindowSpec } from './window-function.ts'

const failedToParse = 9

type ParseFunction = (spec: WindowSpec) => WindowFunction

function boundsOf({ window, sort, compiler }: WindowSpec): WindowBounds {
  return window === undefined ? wholePartition : parseBounds(window, sort, compiler)
}

/** A function of the values of one expression in a window. */
function inWindow(
  make: (bounds: WindowBounds, input: Evaluate, collation: Collation | undefined) => WindowFunction,
): ParseFunction {
  return spec => make(boundsOf(spec), spec.compiler.compile(spec.argument), collationOf(spec.compiler))
}

function moving(makeState: (mayLeave: boolean, collation: Collation | undefined) => MovingState): ParseFunction {
  return inWindow((bounds, input, collation) => {
    return movingFunction(bounds, input, mayLeave => makeState(mayLeave, collation))
  })
}

const count: ParseFunction = spec => {
  if (spec.argument.type !== bsonType.document || !spec.argument.isEmpty) {
    refuse(failedToParse, '$count only accepts an empty object as input')
  }
  const one = int32(1)
  return movingFunction(
    boundsOf(spec),
    () => one,
    () => new MovingSum(),
  )
}

function keepN(
  make: (bounds: WindowBounds, input: Evaluate, n: Evaluate, collation: Collation | undefined) => WindowFunction,
): ParseFunction {
  return spec => {
    const { count, input } = keepNArguments(spec.argument, spec.compiler, keepNAccumulators[spec.name]!.code)
    return make(boundsOf(spec), input, count, collationOf(spec.compiler))
  }
}

const top: ParseFunction = spec => {
  const { name, argument, compiler } = spec
  const [isBottom, isSingle] = [name.startsWith('$bottom'), !name.endsWith('N')]
  return topFunction(boundsOf(spec), { ...topArguments(argument, compiler, name), isBottom, isSingle })
}

const percentile: ParseFunction = spec => {
  const asked = percentileArguments(spec.argument, spec.compiler, spec.name)
  return percentileFunction(boundsOf(spec), asked)
}

/** Functions that rank documents have no window, and an order by one field. */
function ranking(ranked: WindowFunction): ParseFunction {
  return ({ name, argument, window, sort }) => {
    if (window !== undefined) refuse(5371601, 'Rank style window functions take no other arguments')
    if (argument.type !== bsonType.document || !argument.isEmpty) {
      refuse(5371603, `${name} must be specified with '{}' as the value`)
    }
    requireOneSortField(sort, 5371602, name)
    return ranked
  }
}

function requireOneSortField(sort: Sort | undefined, code: number, name: string): void {
  if (sort?.components.length === 1) return
  refuse(code, `${name} must be specified with a top level sortBy expression with exactly one element`)
}

function refuseWindow({ name, window }: WindowSpec): void {
  if (window !== undefined) refuse(failedToParse, `'window' field is not allowed in ${name}`)
}

const carried: ParseFunction = spec => {
  refuseWindow(spec)
  return carriedFunction(spec.compiler.compile(spec.argument))
}

const linearFill: ParseFunction = spec => {
  refuseWindow(spec)
  requireOneSortField(spec.sort, 605001, spec.name)
  return linearFillFunction(spec.compiler.compile(spec.argument))
}

const shift: ParseFunction = ({ name, argument, window, sort, compiler }) => {
  if (window !== undefined) refuse(failedToParse, "$shift does not accept a 'window' field")
  if (argument.type !== bsonType.document) return refuse(failedToParse, 'Argument to $shift must be an object')
  for (const [field] of argument.fields) {
    if (!['output', 'by', 'default'].includes(field)) refuse(failedToParse, `Unknown argument in ${name}`)
  }
  const [output, by, otherwise] = ['output', 'by', 'default'].map(field => argument.get(field))
  if (otherwise !== undefined && compiler.constant(otherwise) === undefined) {
    refuse(failedToParse, "'$shift:default' expression must yield a constant value.")
  }
  if (output === undefined) return refuse(failedToParse, `${name} requires an 'output' expression.`)
  if (by === undefined) return refuse(failedToParse, `${name} requires 'by' as an integer value.`)
  const places = int32Of(by)
  if (places === undefined) {
    return refuse(failedToParse, `'$shift:by' field must be an integer, but found  by: ${printForMessage(by)}`)
  }
  if (sort === undefined) refuse(failedToParse, "'$shift' requires a sortBy")
  const value = otherwise === undefined ? undefined : compiler.constant(otherwise)!.value
  return shiftFunction(compiler.compile(output), places, value ?? nullValue)
}

const expMovingAvg: ParseFunction = ({ argument, window, sort, compiler }) => {
  if (window !== undefined || argument.type !== bsonType.document) {
    return refuse(failedToParse, '$expMovingAvg must have exactly one argument that is an object')
  }
  const input = argument.get('input')
  const needed = "An 'input' field, and either an 'N' field or an 'alpha' field"
  if (argument.fields.length !== 2 || input === undefined) {
    return refuse(failedToParse, `$expMovingAvg sub object must have exactly two fields: ${needed}`)
  }
  if (sort === undefined) refuse(failedToParse, "$expMovingAvg requires an explicit 'sortBy'")
  return movingAverageFunction(compiler.compile(input), alphaOf(argument, needed))
}

function alphaOf(argument: BsonDocument, needed: string): Decimal {
  const [n, alpha] = [argument.get('N'), argument.get('alpha')]
  if (n !== undefined) {
    if (!isNumeric(n)) refuse(failedToParse, `'N' field must be an integer, but found type ${nameOfType(n)}`)
    const whole =
      int64Of(n) ??
      refuse(
        failedToParse,
        `'N' field must be an integer, but found  N: ${printForMessage(n)}. To use a non-integer, use the 'alpha' ` +
          'argument instead',
      )
    if (whole <= 0n) refuse(failedToParse, `'N' must be greater than zero. Got ${whole}`)
    return divideDecimals(toDecimal(int32(2)), toDecimal(int64(whole + 1n)))
  }
  if (alpha === undefined) {
    return refuse(
      failedToParse,
      `Got unrecognized field in $expMovingAvg$expMovingAvg sub object must have exactly two fields: ${needed}`,
    )
  }
  if (!isNumeric(alpha)) return refuse(failedToParse, "'alpha' must be a number")
  if (!(compareNumbers(alpha, int32(0)) > 0 && compareNumbers(alpha, int32(1)) < 0)) {
    refuse(failedToParse, `'alpha' must be between 0 and 1 (exclusive), found alpha: ${printForMessage(alpha)}`)
  }
  return toDecimal(alpha)
}

const unitsMs: Partial<Record<Unit, number>> = {
  week: 604_800_000,
  day: 86_400_000,
  hour: 3_600_000,
  minute: 60_000,
  second: 1000,
  millisecond: 1,
}

/** The arguments of `$derivative` and `$integral`. */
function inUnits({ name, argument, sort, compiler }: WindowSpec) {
  if (sort === undefined) refuse(failedToParse, `${name} requires a sortBy`)
  if (sort!.components.length !== 1) refuse(failedToParse, `${name} requires a non-compound sortBy`)
  if (argument.type !== bsonType.document) {
    const found = `${nameOfType(argument)}: ${name}: ${printForMessage(argument)}`
    return refuse(failedToParse, `${name} expects an object, but got a ${found}`)
  }
  for (const [field] of argument.fields) {
    if (field !== 'input' && field !== 'unit') refuse(failedToParse, `${name} got unexpected argument: ${field}`)
  }
  const unit = argument.get('unit')
  const unitMs = unit === undefined ? undefined : (unitsMs[parseUnit(unit)] ?? refuseLongUnit())
  const input = argument.get('input') ?? refuse(failedToParse, `${name} requires an 'input' expression`)
  return { input: compiler.compile(input), unitMs }
}

function refuseLongUnit(): never {
  return refuse(5490710, "unit must be 'week' or smaller")
}

const derivative: ParseFunction = spec => {
  const { input, unitMs } = inUnits(spec)
  if (spec.window === undefined) refuse(failedToParse, '$derivative requires explicit window bounds')
  return derivativeFunction(boundsOf(spec), input, unitMs)
}

const integral: ParseFunction = spec => {
  const { input, unitMs } = inUnits(spec)
  const field = sortField(spec.sort!)
  const pair: Evaluate = context => BsonArray.of([field(context) ?? nullValue, input(context) ?? nullValue])
  return movingFunction(boundsOf(spec), pair, () => new MovingIntegral(unitMs))
}

/** The value of the first field of an order. */
export function sortField({ components }: Sort): Evaluate {
  const follow = compilePath(checkedPath(components[0]!.path))
  return ({ root }) => follow(root)
}

export const windowFunctions: Readonly<Record<string, ParseFunction>> = {
  $addToSet: moving((_, collation) => new MovingSet(collation)),
  $avg: moving(() => new MovingAverage()),
  $bottom: top,
  $bottomN: top,
  $count: count,
  $covariancePop: moving(() => new MovingCovariance(false)),
  $covarianceSamp: moving(() => new MovingCovariance(true)),
  $denseRank: ranking(rankFunction({ isDense: true })),
  $derivative: derivative,
  $documentNumber: ranking(documentNumber),
  $expMovingAvg: expMovingAvg,
  $first: inWindow(firstFunction),
  $firstN: keepN((bounds, input, n) => endsFunction(bounds, input, n, false)),
  $integral: integral,
  $last: inWindow(lastFunction),
  $lastN: keepN((bounds, input, n) => endsFunction(bounds, input, n, true)),
  $linearFill: linearFill,
  $locf: carried,
  $max: moving((_, collation) => new MovingExtreme(-1, collation)),
  $maxN: keepN((bounds, input, n, collation) => extremesFunction(bounds, { input, n, sign: -1, collation })),
  $median: percentile,
  $min: moving((_, collation) => new MovingExtreme(1, collation)),
  $minN: keepN((bounds, input, n, collation) => extremesFunction(bounds, { input, n, sign: 1, collation })),
  $percentile: percentile,
  $push: inWindow(pushFunction),
  $rank: ranking(rankFunction({ isDense: false })),
  $shift: shift,
  $stdDevPop: moving(mayLeave => new MovingDeviation({ isSample: false, mayLeave })),
  $stdDevSamp: moving(mayLeave => new MovingDeviation({ isSample: true, mayLeave })),
  $sum: moving(() => new MovingSum()),
  $top: top,
  $topN: top,
}

/** Parses the value of a field of `output`. */
export function parseWindowFunction(
  field: string,
  spec: Value,
  sort: Sort | undefined,
  compiler: Compiler,
): WindowFunction {
  if (spec.type !== bsonType.document) {
    return refuse(failedToParse, `The field '${field}' must be an object that specifies a window function`)
  }
  const found = spec.fields.find(([name]) => name.startsWith('$'))
  if (found === undefined) {
    const first = spec.fields[0]?.[0]
    return refuse(failedToParse, `Expected a $-prefixed window function${first === undefined ? '' : `, ${first}`}`)
  }
  const [name, argument] = found
  const parse = Object.hasOwn(windowFunctions, name) ? windowFunctions[name]! : undefined
  if (parse === undefined) return refuse(failedToParse, `Unrecognized window function, ${name}`)
  for (const [other] of spec.fields) {
    if (other === name || other === 'window') continue
    if (Object.hasOwn(windowFunctions, other)) {
      refuse(failedToParse, 'Cannot specify two functions in window function spec')
    }
    refuse(failedToParse, `Window function found an unknown argument: ${other}`)
  }
  return parse({ name, argument, window: spec.get('window'), sort, compiler })
}
