/** `$graphLookup`: follows references from document to document. */

import { exactInteger, isNumeric, truncatedInteger } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, int64, nullValue, trueValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { keptValue } from '../accumulators/kept-value.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { namedArguments, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import { Context, type Evaluate } from '../expressions/core/scope.ts'
import { expressionTest } from '../expressions/expression.ts'
import { valueIdentity } from '../expressions/values/value-identity.ts'
import { compileFilter } from '../filter/match.ts'
import { checkedPath } from '../paths/expression-path.ts'
import { allOf, joinFilter, joinValues } from './join-filter.ts'
import { Memory } from './memory.ts'
import type { Namespace } from './namespace.ts'
import { withPath } from './nested-field.ts'
import type { CompileStage, Run, Stream, SubPipeline } from './stage.ts'

const failedToParse = 9

const options = [
  'from',
  'as',
  'startWith',
  'connectFromField',
  'connectToField',
  'maxDepth',
  'depthField',
  'restrictSearchWithMatch',
] as const

interface Graph {
  readonly collation: Collation | undefined
  readonly from: Namespace
  readonly as: readonly string[]
  readonly start: Evaluate
  readonly connectFrom: readonly string[]
  readonly connectTo: string
  readonly depthMax: number
  readonly depthPath: readonly string[] | undefined
  readonly restriction: BsonDocument
  readonly pipeline: SubPipeline
}

type Specs = Partial<Record<(typeof options)[number], Value>>

function readString(
  specs: Specs,
  name: 'as' | 'connectFromField' | 'connectToField' | 'depthField',
): string | undefined {
  const value = specs[name]
  if (value === undefined || value.type === bsonType.string) return value?.value
  return refuse(40103, `expected string as argument for ${name}, found: ${nameOfType(value)}`)
}

function readDepth(value: Value | undefined): number {
  if (value === undefined) return Number.POSITIVE_INFINITY
  if (!isNumeric(value)) return refuse(40100, `maxDepth must be numeric, found type: ${nameOfType(value)}`)
  const depth = truncatedInteger(value) ?? 0n
  if (depth < 0n) refuse(40101, `maxDepth requires a nonnegative argument, found: ${depth}`)
  if (exactInteger(value) !== depth) refuse(40102, `maxDepth could not be represented as a long long: ${depth}`)
  return Number(depth)
}

/** Distinct values to search for. */
class Frontier {
  readonly #values = new Map<string, Value>()
  readonly #collation: Collation | undefined

  constructor(collation: Collation | undefined) {
    this.#collation = collation
  }

  add(values: readonly Value[]): void {
    for (const value of values) {
      const kept = value.type === bsonType.undefined ? nullValue : keptValue(value).value
      this.#values.set(valueIdentity(kept, this.#collation), kept)
    }
  }

  take(): readonly Value[] {
    const values = [...this.#values.values()]
    this.#values.clear()
    return values
  }
}

/** Breadth-first search. Each document is found once, at its smallest depth. */
async function search(graph: Graph, startValue: Value | undefined, run: Run): Promise<BsonArray> {
  using memory = new Memory(() => new MongoError(40099, '$graphLookup reached maximum memory consumption'))
  const visited = new Map<string, BsonDocument>()
  const searched = new Set<string>()
  const { collation } = graph
  const frontier = new Frontier(collation)
  if (startValue?.type === bsonType.array) frontier.add(startValue.elements)
  else if (startValue !== undefined) frontier.add([startValue])
  for (let depth = 0; depth <= graph.depthMax; depth += 1) {
    const wanted = frontier.take().filter(value => !searched.has(valueIdentity(value, collation)))
    if (wanted.length === 0) break
    for (const value of wanted) searched.add(valueIdentity(value, collation))
    for await (const batch of findNext(graph, wanted, run)) {
      for (const document of batch) {
        const id = document.get('_id')
        if (id === undefined) {
          const namespace = `${graph.from.database}.${graph.from.collection}`
          const problem = 'namespace must contain an _id for de-duplication in $graphLookup'
          return refuse(40271, `Documents in the '${namespace}' ${problem}`)
        }
        const identity = valueIdentity(id, collation)
        if (visited.has(identity)) continue
        frontier.add(joinValues(document, graph.connectFrom))
        const placed =
          graph.depthPath === undefined ? document : withPath(document, graph.depthPath, int64(BigInt(depth)))
        const kept = keptValue(placed)
        memory.add(kept.bytes + identity.length)
        visited.set(identity, kept.value as BsonDocument)
        if (run.slice.isOver) await run.slice.turn()
      }
    }
  }
  return BsonArray.of([...visited.values()])
}

function findNext({ from, connectTo, restriction, pipeline }: Graph, values: readonly Value[], run: Run): Stream {
  const conditions = [restriction, joinFilter(connectTo, values)]
  // Unlike in other filters, null does not match a missing field.
  if (values.some(value => value.type === bsonType.null)) {
    conditions.push(BsonDocument.of([[connectTo, BsonDocument.of([['$exists', trueValue]])]]))
  }
  return pipeline.runOn(from, run, allOf(conditions))
}

export const graphLookupStage: CompileStage = (spec, compiler, name) => {
  if (spec.type !== bsonType.document) {
    const problem = 'the $graphLookup stage specification must be an object, but found'
    return refuse(failedToParse, `${problem} ${nameOfType(spec)}`)
  }
  const specs: Specs = namedArguments(spec, options, unknown =>
    refuse(40104, `Unknown argument to $graphLookup: ${unknown}`),
  )
  if (specs.from === undefined) {
    return refuse(failedToParse, `missing 'from' option to $graphLookup stage specification: ${printForMessage(spec)}`)
  }
  if (specs.from.type !== bsonType.string) {
    return refuse(failedToParse, `$graphLookup 'from' field must be a string, but found ${nameOfType(specs.from)}`)
  }
  const as = readString(specs, 'as')
  const connectFrom = readString(specs, 'connectFromField')
  const connectTo = readString(specs, 'connectToField')
  const depthField = readString(specs, 'depthField')
  const depthMax = readDepth(specs.maxDepth)
  const restriction = specs.restrictSearchWithMatch ?? BsonDocument.of([])
  if (restriction.type !== bsonType.document) {
    return refuse(40185, `restrictSearchWithMatch must be an object, found ${nameOfType(restriction)}`)
  }
  compileFilter(restriction, { expression: expressionTest(compiler.scope) })
  if (as === undefined || connectFrom === undefined || connectTo === undefined || specs.startWith === undefined) {
    const required = "'from', 'as', 'startWith', 'connectFromField', and 'connectToField'"
    return refuse(40105, `$graphLookup requires ${required} to be specified.`)
  }
  const from: Namespace = { database: compiler.namespace.database, collection: specs.from.value }
  const graph: Graph = {
    collation: compiler.scope.constants.collation,
    from,
    as: checkedPath(as),
    start: compiler.expressions.compile(specs.startWith),
    connectFrom: checkedPath(connectFrom),
    connectTo: checkedPath(connectTo).join('.'),
    depthMax,
    depthPath: depthField === undefined ? undefined : checkedPath(depthField),
    restriction,
    pipeline: compiler.pipeline(BsonArray.of([]), { namespace: from, within: '$lookup' }),
  }
  return {
    name,
    async *run(input, run) {
      const context = new Context(run.slots)
      for await (const batch of input) {
        for (const document of batch) {
          yield [withPath(document, graph.as, await search(graph, graph.start(context.at(document)), run))]
        }
      }
    },
  }
}
