/**
 * `$setWindowFields`: adds fields that are computed from the documents around the current document.
 *
 * The stage holds all documents, sorted by partition and by `sortBy`. Then it goes through each partition
 * once; every function keeps up with the current document.
 */

import { sortInSteps } from '../../base/steps.ts'
import { keyOfValue } from '../../document/bson/ordered-key.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, nullValue, string, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { refuse } from '../expressions/core/define-operator.ts'
import { Context, type Evaluate } from '../expressions/core/scope.ts'
import { checkedPath } from '../paths/expression-path.ts'
import { compileSort, type Sort } from '../paths/sort-order.ts'
import { parseWindowFunction, sortField } from '../windows/functions.ts'
import { WindowPartition } from '../windows/partition.ts'
import type { WindowFunction, WindowRun } from '../windows/window-function.ts'
import { Memory, refuseSortMemory, refuseWindowMemory } from './memory.ts'
import { addFieldsStage } from './projection.ts'
import {
  type CompileStage,
  documentBytes,
  forEachDocument,
  inBatches,
  inSlices,
  largeBatchDocumentsMax,
  type Run,
  type Stream,
} from './stage.ts'
import { stageArguments, stageDocument } from './stage-arguments.ts'

interface Entry {
  readonly partition: Uint8Array
  readonly sortKey: Uint8Array
  readonly document: BsonDocument
}

/** Overhead of an entry besides the bytes of its keys and document. */
const entryBytes = 120

const noKey = new Uint8Array()

interface Windows {
  readonly partitionBy: Evaluate | undefined
  readonly sort: Sort | undefined
  readonly functions: readonly WindowFunction[]
  /** Puts the results, which are in the slots, into a document. */
  readonly addResults: (context: Context) => BsonDocument
  readonly slots: readonly number[]
  readonly collation: Collation | undefined
}

export const setWindowFieldsStage: CompileStage = (spec, compiler, name) => {
  const given = stageArguments(stageDocument(spec, name, 'the'), name, {
    partitionBy: { type: 'any' },
    sortBy: { type: 'object' },
    output: { type: 'object', isRequired: true },
  })
  const { expressions } = compiler
  const { collation } = compiler.scope.constants
  const partitionBy = given.partitionBy === undefined ? undefined : expressions.compile(given.partitionBy)
  const constant = given.partitionBy === undefined ? undefined : expressions.constant(given.partitionBy)
  if (constant?.value?.type === bsonType.array) refuseArray()
  const sortBy = given.sortBy as BsonDocument | undefined
  const sort = sortBy === undefined || sortBy.isEmpty ? undefined : compileSort(sortBy, collation)
  const outputs = (given.output as BsonDocument).fields
  refuseConflicts(outputs.map(([path]) => path))
  const functions = outputs.map(([path, each]) => parseWindowFunction(path, each, sort, expressions))
  const names = outputs.map((_, index) => `w${index}`)
  const { scope, slots } = expressions.scope.with(names)
  const fields = outputs.map(([path], index): [string, Value] => [path, string(`$$${names[index]}`)])
  const adding = { ...compiler, expressions: expressions.within(scope) }
  const { change } = addFieldsStage(BsonDocument.of(fields), adding, name)
  const windows: Windows = { partitionBy, sort, collation, functions, addResults: change!, slots }
  return {
    name,
    run: (input, run) => withWindows(input, windows, run),
  }
}

function refuseArray(): never {
  return refuse(14, 'An expression used to partition cannot evaluate to value of type array')
}

function refuseConflicts(paths: readonly string[]): void {
  for (const path of paths) checkedPath(path)
  const sorted = paths.map(path => `${path}.`).sort()
  if (sorted.some((path, at) => at > 0 && path.startsWith(sorted[at - 1]!))) {
    refuse(6307900, "$setWindowFields 'output' specification contains two conflicting paths")
  }
}

async function* withWindows(input: Stream, windows: Windows, run: Run) {
  using memory = new Memory(refuseSortMemory)
  const entries = await sortedEntries(input, windows, run, memory)
  yield* inBatches(results(entries, windows, run), run.slice, largeBatchDocumentsMax)
}

async function sortedEntries(input: Stream, windows: Windows, run: Run, memory: Memory): Promise<readonly Entry[]> {
  const { partitionBy, sort, collation } = windows
  const entries: Entry[] = []
  const context = new Context(run.slots)
  await forEachDocument(input, run.slice, document => {
    const bytes = documentBytes(document)
    const value = partitionBy?.(context.at(document))
    if (value?.type === bsonType.array) refuseArray()
    const partition = partitionBy === undefined ? noKey : keyOfValue(value ?? nullValue, collation)
    const sortKey = sort === undefined ? noKey : sort.keyOf(bytes)
    memory.add(entryBytes + partition.length + sortKey.length + bytes.length)
    entries.push({ partition, sortKey, document })
  })
  if (partitionBy === undefined && sort === undefined) return entries
  const compare = (left: Entry, right: Entry) =>
    Buffer.compare(left.partition, right.partition) || Buffer.compare(left.sortKey, right.sortKey)
  return inSlices(sortInSteps(entries, compare), run.slice)
}

type Results = Generator<BsonDocument | undefined>

function* results(entries: readonly Entry[], windows: Windows, { slots }: Run): Results {
  for (let start = 0; start < entries.length; ) {
    let end = start + 1
    const { partition } = entries[start]!
    while (end < entries.length && Buffer.compare(partition, entries[end]!.partition) === 0) end += 1
    yield* partitionResults(entries.slice(start, end), windows, slots)
    start = end
  }
}

function* partitionResults(entries: readonly Entry[], windows: Windows, slots: Run['slots']): Results {
  const { sort, functions, addResults } = windows
  using memory = new Memory(refuseWindowMemory)
  const partition = new WindowPartition(
    entries.map(({ document }) => document),
    {
      sortKeys: entries.map(({ sortKey }) => sortKey),
      context: new Context(slots),
      sortField: sort === undefined ? undefined : sortField(sort),
      memory,
    },
  )
  const runs: WindowRun[] = []
  for (const each of functions) runs.push(yield* each.begin(partition))
  const context = new Context(slots)
  for (const [index, { document }] of entries.entries()) {
    for (const [at, run] of runs.entries()) context.slots[windows.slots[at]!] = run(index)
    yield addResults(context.at(document))
  }
}
