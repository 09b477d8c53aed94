/** Parses `{ total: { $sum: "$price" } }`: a field, an accumulator and its argument. */

import { bsonType } from '../../document/bson/types.ts'
import { type BsonDocument, int32, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { collationOf, namedArguments, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import type { Compiler, Context, Evaluate } from '../expressions/core/scope.ts'
import { compileSort } from '../paths/sort-order.ts'
import type { Accumulator } from './accumulator.ts'
import { AddToSet, Average, Extreme, First, Last, MergeObjects, Push, StandardDeviation, Sum } from './basic.ts'
import { checkedCount, ExtremeN, FirstN, keyedOutput, LastN, TopN } from './keep-n.ts'
import { Percentile, percentileArguments } from './percentile.ts'

export interface AccumulatorStatement {
  readonly field: string
  /** The value of each document that is accumulated. */
  readonly argument: Evaluate
  /** Starts a group. The context is positioned at the `_id` of the group. */
  begin(group: Context): Accumulator
}

type Parsed = Omit<AccumulatorStatement, 'field'>
type ParseAccumulator = (argument: Value, compiler: Compiler, name: string) => Parsed

function single(make: (collation: Collation | undefined) => Accumulator): ParseAccumulator {
  return (argument, compiler, name) => {
    if (argument.type === bsonType.array) refuse(40237, `The ${name} accumulator is a unary operator`)
    const collation = collationOf(compiler)
    return { argument: compiler.compile(argument), begin: () => make(collation) }
  }
}

/** Parses the arguments of `$firstN` and similar accumulators, and of the expressions with the same names. */
export function keepNArguments(
  argument: Value,
  compiler: Compiler,
  code: number,
): { readonly count: Evaluate; readonly input: Evaluate } {
  if (argument.type !== bsonType.document) {
    return refuse(code, `specification must be an object; found ${printForMessage(argument)}`)
  }
  const specs = namedArguments(argument, ['n', 'input'], unknown =>
    refuse(5787901, `Unknown argument for 'n' operator: ${unknown}`),
  )
  const count = specs.n ?? refuse(5787906, "Missing value for 'n'")
  const input = specs.input ?? refuse(5787907, "Missing value for 'input'")
  return { count: compiler.compile(count), input: compiler.compile(input) }
}

export type MakeKeepN = (count: number, collation: Collation | undefined) => Accumulator

export const keepNAccumulators: Readonly<Record<string, { readonly code: number; readonly make: MakeKeepN }>> = {
  $firstN: { code: 5787801, make: count => new FirstN(count) },
  $lastN: { code: 5787801, make: count => new LastN(count) },
  $maxN: { code: 5787900, make: (count, collation) => new ExtremeN(count, -1, collation) },
  $minN: { code: 5787900, make: (count, collation) => new ExtremeN(count, 1, collation) },
}

const keepN: ParseAccumulator = (argument, compiler, name) => {
  const { code, make } = keepNAccumulators[name]!
  const { count, input } = keepNArguments(argument, compiler, code)
  return { argument: input, begin: group => make(checkedCount(count(group)), collationOf(compiler)) }
}

export interface TopArguments {
  readonly count: Evaluate
  readonly output: Evaluate
  /** The sort key of the document at which the context is. */
  readonly key: (context: Context) => Uint8Array
}

/** Parses the arguments of `$top` and similar accumulators. */
export function topArguments(argument: Value, compiler: Compiler, name: string): TopArguments {
  const isSingle = !name.endsWith('N')
  if (argument.type !== bsonType.document) {
    return refuse(5788001, `specification must be an object; found ${printForMessage(argument)}`)
  }
  const known = isSingle ? (['output', 'sortBy'] as const) : (['n', 'output', 'sortBy'] as const)
  const specs: Partial<Record<'n' | 'output' | 'sortBy', Value>> = namedArguments(argument, known, unknown =>
    refuse(5788002, `Unknown argument to ${name} '${unknown}'`),
  )
  const countSpec = isSingle ? int32(1) : (specs.n ?? refuse(5788003, "Missing value for 'n'"))
  const output = compiler.compile(specs.output ?? refuse(5788004, "Missing value for 'output'"))
  const sortBy = specs.sortBy ?? refuse(5788005, "Missing value for 'sortBy'")
  if (sortBy.type !== bsonType.document) {
    return refuse(10065, `invalid parameter: expected an object (sortBy)`)
  }
  const sort = compileSort(sortBy, collationOf(compiler))
  return { count: compiler.compile(countSpec), output, key: ({ root }) => sort.keyOf(bytesOf(root)) }
}

function top(isBottom: boolean, isSingle: boolean): ParseAccumulator {
  return (argument, compiler, name) => {
    const { count, output, key } = topArguments(argument, compiler, name)
    return {
      argument: context => keyedOutput(key(context), output(context)),
      begin: group => new TopN(checkedCount(count(group)), { isBottom, isSingle }),
    }
  }
}

function bytesOf(document: BsonDocument): Uint8Array {
  const { raw } = document
  if (raw === undefined) return encodeDocument(document)
  return raw.start === 0 ? raw.bytes : raw.bytes.subarray(raw.start, raw.end)
}

const count: ParseAccumulator = argument => {
  if (argument.type !== bsonType.document || !argument.isEmpty) {
    refuse(14, '$count takes no arguments, i.e. $count:{}')
  }
  const one = int32(1)
  return { argument: () => one, begin: () => new Sum() }
}

const percentile: ParseAccumulator = (argument, compiler, name) => {
  const asked = percentileArguments(argument, compiler, name)
  return { argument: asked.input, begin: () => new Percentile(asked) }
}

/** All accumulators by name. */
export const accumulators: Readonly<Record<string, ParseAccumulator>> = {
  $addToSet: single(collation => new AddToSet(collation)),
  $avg: single(() => new Average()),
  $bottom: top(true, true),
  $bottomN: top(true, false),
  $count: count,
  $first: single(() => new First()),
  $firstN: keepN,
  $last: single(() => new Last()),
  $lastN: keepN,
  $max: single(collation => new Extreme(-1, collation)),
  $maxN: keepN,
  $median: percentile,
  $mergeObjects: single(() => new MergeObjects()),
  $min: single(collation => new Extreme(1, collation)),
  $minN: keepN,
  $percentile: percentile,
  $push: single(() => new Push()),
  $stdDevPop: single(() => new StandardDeviation(false)),
  $stdDevSamp: single(() => new StandardDeviation(true)),
  $sum: single(() => new Sum()),
  $top: top(false, true),
  $topN: top(false, false),
}

export function parseStatement(field: string, spec: Value, compiler: Compiler): AccumulatorStatement {
  if (spec.type !== bsonType.document || spec.fields[0]?.[0].startsWith('$') !== true) {
    return refuse(40234, `The field '${field}' must be an accumulator object`)
  }
  if (field.includes('.')) refuse(40235, `The field name '${field}' cannot contain '.'`)
  if (field.startsWith('$')) refuse(40236, `The field name '${field}' cannot be an operator name`)
  if (spec.fields.length !== 1) refuse(40238, `The field '${field}' must specify one accumulator`)
  const [name, argument] = spec.fields[0]!
  const parse = Object.hasOwn(accumulators, name) ? accumulators[name] : undefined
  if (parse === undefined) return refuse(15952, `unknown group operator '${name}'`)
  return { field, ...parse(argument, compiler, name) }
}
