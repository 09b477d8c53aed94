/** `$lookup`: joins by equality, by a pipeline with variables, or by both. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, type BsonDocument, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { keptValue } from '../accumulators/kept-value.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { namedArguments, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import { Context, type Evaluate } from '../expressions/core/scope.ts'
import { checkVariableName } from '../expressions/core/variable-name.ts'
import { checkedPath } from '../paths/expression-path.ts'
import { equalityJoiner, type Joined } from './equality-join.ts'
import { joinFilter, joinValues } from './join-filter.ts'
import { aggregationMemoryBytesMax, Memory } from './memory.ts'
import type { Namespace } from './namespace.ts'
import { withPath } from './nested-field.ts'
import type { CompileStage, Run, StageCompiler, SubPipeline } from './stage.ts'
import { pipelineBatchDocumentsMax } from './stage.ts'

const failedToParse = 9

const names = ['from', 'as', 'localField', 'foreignField', 'let', 'pipeline'] as const

interface Join {
  readonly from: Namespace | undefined
  readonly as: readonly string[]
  readonly equality: { readonly local: readonly string[]; readonly foreign: string } | undefined
  readonly variables: readonly (readonly [slot: number, value: Evaluate])[]
  readonly pipeline: SubPipeline
  /** Nothing depends on the joined document, so the result is the same every time. */
  readonly isConstant: boolean
  /** There is no pipeline, and the joined documents are stored ones. */
  readonly isPlain: boolean
}

function stringOption(value: Value | undefined, name: string): string | undefined {
  if (value === undefined || value.type === bsonType.string) return value?.value
  return refuse(
    failedToParse,
    `$lookup argument '${name}' must be a string, found ${printForMessage(value)}: ${nameOfType(value)}`,
  )
}

/** The foreign collection. As in MongoDB, only some internal collections may be in another database. */
function readFrom(value: Value | undefined, { namespace }: StageCompiler): Namespace | undefined {
  if (value === undefined) return undefined
  if (value.type === bsonType.string) {
    if (value.value === '') refuse(73, `invalid $lookup namespace: ${namespace.database}.`)
    return { database: namespace.database, collection: value.value }
  }
  return refuse(failedToParse, `$lookup 'from' field must be a string, but found ${nameOfType(value)}`)
}

function readJoin(spec: Value, compiler: StageCompiler): Join {
  if (spec.type !== bsonType.document) {
    return refuse(failedToParse, `the $lookup stage specification must be an object, but found ${nameOfType(spec)}`)
  }
  const options = namedArguments(spec, names, unknown =>
    refuse(failedToParse, `unknown argument to $lookup: ${unknown}`),
  )
  const from = readFrom(options.from, compiler)
  if (from === undefined && options.pipeline === undefined) {
    refuse(failedToParse, "must specify 'pipeline' when 'from' is empty")
  }
  const [as, local, foreign] = (['as', 'localField', 'foreignField'] as const).map(name =>
    stringOption(options[name], name),
  )
  if (as === undefined || as === '') return refuse(failedToParse, "must specify 'as' field for a $lookup")
  if (options.let !== undefined && options.let.type !== bsonType.document) {
    const found = `${printForMessage(options.let)}' must be an object, is type ${nameOfType(options.let)}`
    return refuse(failedToParse, `$lookup argument 'let: ${found}`)
  }
  if (options.pipeline === undefined) {
    if (local === undefined || foreign === undefined) {
      refuse(
        failedToParse,
        "$lookup requires either 'pipeline' or both 'localField' and 'foreignField' to be specified",
      )
    }
    if (options.let !== undefined) {
      refuse(failedToParse, "$lookup with a 'let' argument must also specify 'pipeline'")
    }
  } else if ((local === undefined) !== (foreign === undefined)) {
    refuse(failedToParse, "$lookup requires both or neither of 'localField' and 'foreignField' to be specified")
  }
  const stages = options.pipeline ?? BsonArray.of([])
  if (stages.type !== bsonType.array) refuse(14, "'pipeline' option must be specified as an array")
  const vars = options.let?.type === bsonType.document ? options.let.fields : []
  for (const [name] of vars) checkVariableName(name)
  const values = vars.map(([, value]) => compiler.expressions.compile(value))
  const { scope, slots } = compiler.scope.with(vars.map(([name]) => name))
  const pipeline = compiler.pipeline(stages, { scope, namespace: from, within: '$lookup' })
  return {
    from,
    as: checkedPath(as),
    equality:
      local === undefined || foreign === undefined
        ? undefined
        : { local: checkedPath(local), foreign: checkedPath(foreign).join('.') },
    variables: values.map((value, index) => [slots[index]!, value]),
    pipeline,
    isConstant: local === undefined && vars.length === 0,
    isPlain: stages.elements.length === 0 && pipeline.isOnlyFilter,
  }
}

function refuseSize(from: Namespace | undefined): MongoError {
  const matching = `Total size of documents in ${from?.collection ?? ''} matching pipeline's $lookup stage`
  return new MongoError(4568, `${matching} exceeds ${aggregationMemoryBytesMax} bytes`)
}

async function joined(join: Join, document: BsonDocument, context: Context, run: Run): Promise<BsonArray> {
  context.at(document)
  for (const [slot, value] of join.variables) context.slots[slot] = value(context)
  const { equality } = join
  const filter = equality === undefined ? undefined : joinFilter(equality.foreign, joinValues(document, equality.local))
  const inner: Run = { ...run, slots: [...context.slots] }
  using memory = new Memory(() => refuseSize(join.from))
  const found: Value[] = []
  for await (const batch of join.pipeline.runOn(join.from, inner, filter)) {
    for (const each of batch) {
      const { value, bytes } = keptValue(each)
      memory.add(bytes)
      found.push(value)
    }
  }
  return BsonArray.of(found)
}

type Search = (batch: readonly BsonDocument[], run: Run) => AsyncGenerator<Joined>

/** Runs one search per document. */
function oneByOne(join: Join): Search {
  let same: BsonArray | undefined
  return async function* (batch, run) {
    const context = new Context(run.slots)
    for (const document of batch) {
      const found = same ?? (await joined(join, document, context, run))
      if (join.isConstant) same = found
      yield [document, found]
    }
  }
}

function together(
  join: Join,
  from: Namespace,
  equality: NonNullable<Join['equality']>,
  collation: Collation | undefined,
): Search {
  return equalityJoiner({
    ...equality,
    find: (filter, run) => join.pipeline.runOn(from, run, filter),
    refuseSize: () => refuseSize(from),
    collation,
  })
}

export const lookupStage: CompileStage = (spec, compiler, name) => {
  const join = readJoin(spec, compiler)
  const { from, equality, isPlain } = join
  const { collation } = compiler.scope.constants
  const searchFor = (): Search =>
    isPlain && from !== undefined && equality !== undefined ? together(join, from, equality, collation) : oneByOne(join)
  return {
    name,
    async *run(input, run) {
      const search = searchFor()
      for await (const batch of input) {
        let made: BsonDocument[] = []
        let count = 0
        for await (const [document, found] of search(batch, run)) {
          made.push(withPath(document, join.as, found))
          count += 1 + found.elements.length
          if (run.slice.isOver) await run.slice.turn()
          if (count < pipelineBatchDocumentsMax) continue
          yield made
          made = []
          count = 0
        }
        if (made.length > 0) yield made
      }
    },
  }
}
