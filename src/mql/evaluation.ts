/**
 * Programs with which another thread computes something for a command, mostly from single documents.
 *
 *   filter       whether the document matches, and the position of the match
 *   parsing      whether the filter is valid, and whether it gives an order
 *   projection   the projected document
 *   compiling    whether the update is valid, and its form
 *   update       the updated document
 *   merge        the document that `$merge` writes
 *   rules        whether the document satisfies the validator of its collection; if not, a report
 *   let          the values of the variables in `let`
 *
 * The inputs are one BSON document, and so is each result.
 */

import { assert } from '../base/error.ts'
import { bsonType } from '../document/bson/types.ts'
import {
  BsonDocument,
  binary,
  bool,
  date,
  type Field,
  int32,
  string,
  timestamp,
  type Value,
} from '../document/bson/value.ts'
import { BsonWriter, encodeDocument } from '../document/bson/writer.ts'
import type { Program } from '../query/program.ts'
import type { MqlEvaluation } from '../query/statement.ts'
import type { CommandVariables } from './expressions/core/scope.ts'
import type { FilterSpec, Matcher } from './filter/match.ts'
import { PipelineCompiler } from './pipeline/compiler.ts'
import { commandScope } from './pipeline/pipeline.ts'
import { updatePipeline } from './pipeline/update-pipeline.ts'
import type { Projection } from './projection/projection.ts'
import type { Namespace } from './stages/namespace.ts'
import { mergeStage, type WritingStage } from './stages/write.ts'
import type { UpdateContext } from './update/modifier.ts'
import { type CompiledUpdate, compileUpdate, type Updated } from './update/update.ts'
import { Validator } from './validation/validator.ts'

/** Computes the fields of one result from one document. */
type Compute = (document: Uint8Array) => readonly Field[]

export type EvaluationKind = MqlEvaluation['of']

/** The inputs of an evaluation, besides the variables of the command. */
export interface EvaluationInputs {
  readonly filter?: BsonDocument | undefined
  readonly projection?: BsonDocument | undefined
  /** An update document, or the stages of a pipeline. */
  readonly update?: Value | undefined
  readonly arrayFilters?: Value | undefined
  readonly isMulti?: boolean | undefined
  readonly isInsert?: boolean | undefined
  readonly position?: number | undefined
  readonly now?: UpdateContext['now'] | undefined
  readonly validator?: BsonDocument | undefined
  /** A `$merge` stage, and the document that comes in. */
  readonly merge?: Value | undefined
  readonly incoming?: BsonDocument | undefined
  /** The `let` whose values are computed. The program does not read it: it tells requests apart. */
  readonly given?: BsonDocument | undefined
}

export function encodeInputs({ position, now, isMulti, isInsert, ...values }: EvaluationInputs): Uint8Array {
  const fields: Field[] = Object.entries(values).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  )
  if (position !== undefined) fields.push(['position', int32(position)])
  if (isMulti === true) fields.push(['isMulti', bool(true)])
  if (isInsert === true) fields.push(['isInsert', bool(true)])
  if (now !== undefined) fields.push(['nowMs', date(BigInt(now.epochMs))], ['timestamp', timestamp(now.timestamp)])
  // A message to another thread carries the whole buffer.
  const writer = new BsonWriter(encodedBytes(fields))
  writer.document(BsonDocument.of(fields))
  return new Uint8Array(writer.bytes())
}

/** An estimate of the size of the fields, so that a large buffer does not grow several times. */
function encodedBytes(fields: readonly Field[]): number {
  let bytes = 256
  for (const [, value] of fields) {
    const raw = value.type === bsonType.document || value.type === bsonType.array ? value.raw : undefined
    if (raw !== undefined) bytes += raw.end - raw.start + 32
  }
  return bytes
}

/** Functions of the language that the table below uses. `prepare.ts` passes them in: it imports this file. */
export interface EvaluationParts {
  filter(spec: FilterSpec): Matcher
  projection(spec: BsonDocument, variables: CommandVariables): Projection
}

export interface EvaluationRequest {
  readonly of: EvaluationKind
  readonly inputs: BsonDocument
  readonly variables: CommandVariables
  readonly namespace: Namespace
}

export function evaluationProgram(request: EvaluationRequest, parts: EvaluationParts): Program {
  const compute = kinds[request.of](request, parts)
  return {
    order: 'source',
    distinct: undefined,
    prefersArrival: false,
    first: 0,
    end: Number.POSITIVE_INFINITY,
    accept: ({ document }, emit) => {
      emit(new Uint8Array(encodeDocument(compute(document as Uint8Array))), undefined)
    },
    finish: () => {},
  }
}

const kinds: Readonly<Record<EvaluationKind, (request: EvaluationRequest, parts: EvaluationParts) => Compute>> = {
  filter: ({ inputs, variables }, parts) => {
    const matcher = parts.filter({ filter: documentOf(inputs, 'filter'), variables, allowsNear: true })
    return document => {
      const matches = matcher.matches(document)
      const position = matches ? matcher.position(document) : undefined
      return [['matches', bool(matches)], ...(position === undefined ? [] : [['position', int32(position)] as const])]
    }
  },
  parsing: ({ inputs, variables }, parts) => {
    const { order } = parts.filter({ filter: documentOf(inputs, 'filter'), variables, allowsNear: true })
    return () => [['hasOrder', bool(order !== undefined)]]
  },
  projection: ({ inputs, variables }, parts) => {
    const { project } = parts.projection(documentOf(inputs, 'projection'), variables)
    const position = positionOf(inputs)
    return document => [['document', binary(project(document, position))]]
  },
  compiling: request => {
    const { kind, needsPosition } = compiledUpdate(request)
    return () => [
      ['kind', string(kind)],
      ['needsPosition', bool(needsPosition)],
    ]
  },
  update: request => {
    const { apply } = compiledUpdate(request)
    const context = contextOf(request.inputs)
    return document => {
      const updated = apply(document, context)
      return [
        ['isChanged', bool(updated.isChanged)],
        ['document', binary(updated.document)],
      ]
    }
  },
  merge: ({ inputs, variables, namespace }) => {
    const incoming = new Uint8Array(encodeDocument(documentOf(inputs, 'incoming')))
    const compiler = new PipelineCompiler(commandScope(variables), namespace)
    const { merge } = mergeStage(inputs.get('merge')!, compiler, '$merge') as WritingStage
    return document => [['document', binary(merge!.update(document, incoming))]]
  },
  rules: ({ inputs, variables }) => {
    const validator = new Validator(documentOf(inputs, 'validator'))
    const constants = () => variables.constants
    return document => {
      if (validator.matches(document, constants)) return [['matches', bool(true)]]
      return [
        ['matches', bool(false)],
        ['report', validator.report(document, constants)],
      ]
    }
  },
  let:
    ({ variables }) =>
    () => [['values', computeLet(variables)]],
}

function compiledUpdate({ inputs, variables, namespace }: EvaluationRequest): CompiledUpdate {
  const spec = inputs.get('update')
  assert(spec?.type === bsonType.document || spec?.type === bsonType.array, 'an update is a document or stages')
  const arrayFilters = inputs.get('arrayFilters')
  return compileUpdate(spec, {
    arrayFilters: arrayFilters?.type === bsonType.array ? arrayFilters : undefined,
    isMulti: inputs.get('isMulti') !== undefined,
    pipeline: updatePipeline(commandScope(variables), namespace),
    collation: variables.constants.collation,
  })
}

/** The variables of `let` that have a value, with their values. */
export function computeLet(variables: CommandVariables): BsonDocument {
  const scope = commandScope(variables)
  return BsonDocument.of(
    (variables.let?.fields ?? []).flatMap(([name]): Field[] => {
      const found = scope.find(name)
      return found !== undefined && 'value' in found && found.value !== undefined ? [[name, found.value]] : []
    }),
  )
}

function contextOf(inputs: BsonDocument): UpdateContext {
  const [nowMs, time] = [inputs.get('nowMs'), inputs.get('timestamp')]
  assert(nowMs?.type === bsonType.date && time?.type === bsonType.timestamp, 'an update has a time')
  return {
    position: positionOf(inputs),
    isInsert: inputs.get('isInsert') !== undefined,
    now: { epochMs: Number(nowMs.value), timestamp: time.value },
  }
}

function positionOf(inputs: BsonDocument): number | undefined {
  const position = inputs.get('position')
  return position?.type === bsonType.int32 ? position.value : undefined
}

function documentOf(inputs: BsonDocument, name: string): BsonDocument {
  const found = inputs.get(name)
  assert(found?.type === bsonType.document, `the input ${name} is a document`)
  return found
}

export function isMatch(result: BsonDocument): boolean {
  const matches = result.get('matches')
  return matches?.type === bsonType.bool && matches.value
}

export function matchPosition(result: BsonDocument): number | undefined {
  return positionOf(result)
}

/** The form of an update, from the result of `compiling`. */
export function updateForm(result: BsonDocument): Pick<CompiledUpdate, 'kind' | 'needsPosition'> {
  const [kind, needsPosition] = [result.get('kind'), result.get('needsPosition')]
  assert(kind?.type === bsonType.string && needsPosition?.type === bsonType.bool, 'an update has a form')
  return { kind: kind.value as CompiledUpdate['kind'], needsPosition: needsPosition.value }
}

/** Whether the filter gives an order (`$near`), from the result of `parsing`. */
export function hasOrder(result: BsonDocument): boolean {
  const found = result.get('hasOrder')
  return found?.type === bsonType.bool && found.value
}

export function madeDocument(result: BsonDocument): Uint8Array {
  const made = result.get('document')
  assert(made?.type === bsonType.binary, 'the result has a document')
  return made.value
}

export function updatedDocument(result: BsonDocument, before: Uint8Array): Updated {
  const isChanged = result.get('isChanged')
  return isChanged?.type === bsonType.bool && isChanged.value
    ? { document: madeDocument(result), isChanged: true }
    : { document: before, isChanged: false }
}
