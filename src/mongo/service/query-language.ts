/**
 * Compiles filters, sorts, projections and updates of a command, with its time, its variables and its
 * collation.
 */

import { KiB } from '../../base/limits.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { isWatched, spend, WorkTooLong } from '../../base/work.ts'
import { type BsonArray, BsonDocument, type Field, string } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import {
  computeLet,
  hasOrder,
  isMatch,
  madeDocument,
  matchPosition,
  updatedDocument,
  updateForm,
} from '../../mql/evaluation.ts'
import type { CommandVariables, Constants } from '../../mql/expressions/core/scope.ts'
import type { FilterSpec, Matcher } from '../../mql/filter/match.ts'
import { commandScope } from '../../mql/pipeline/pipeline.ts'
import { updatePipeline } from '../../mql/pipeline/update-pipeline.ts'
import { prepareFilter, prepareKnownFilter, prepareProjection } from '../../mql/prepare.ts'
import type { Projection } from '../../mql/projection/projection.ts'
import { type CompiledUpdate, compileUpdate } from '../../mql/update/update.ts'
import { emptyDocument } from '../answers/fields.ts'
import { namespaceOf } from '../requests/namespace.ts'
import type { CommandCall } from './command.ts'
import { computed, withElsewhere } from './elsewhere.ts'

export function constantsOf({ service }: Pick<CommandCall, 'service'>, collation: Collation | undefined): Constants {
  const { clock, clusterTime } = service
  return { now: BigInt(clock.nowMs()), clusterTime: clusterTime.now().value, random: Math.random, collation }
}

/** What expressions of a command can speak of: the time it came, and the variables in its `let`. */
export function variablesOf(call: CommandCall, collation: Collation | undefined): CommandVariables {
  return { constants: constantsOf(call, collation), let: letOf(call, collation) }
}

const lets = new WeakMap<CommandCall, BsonDocument>()

/** The values are computed once: `$rand` is the same in every part and on every page of a command. */
function letOf(call: CommandCall, collation: Collation | undefined): BsonDocument | undefined {
  const given = call.args.document('let')
  if (given === undefined) return undefined
  const known = lets.get(call) ?? letValues(call, given, collation)
  lets.set(call, known)
  return known
}

/** The value of a variable without a value. */
const noValue = string('$$REMOVE')

/** The variables with their values in place of the expressions. */
function letValues(call: CommandCall, given: BsonDocument, collation: Collation | undefined): BsonDocument {
  const variables = { constants: constantsOf(call, collation), let: given }
  const values = computed(call, {
    ...{ of: 'let', inputs: { given }, document: emptyDocument.raw!.bytes },
    variables: () => variables,
    here: () => computeLet(variables),
    read: result => result.get('values') as BsonDocument,
  })
  return BsonDocument.of(
    given.fields.map(([name]): Field => {
      const value = values.get(name)
      return [name, value === undefined ? noValue : BsonDocument.of([['$literal', value]])]
    }),
  )
}

/** A filter of fewer bytes is parsed in less than two milliseconds. */
export const mongoFilterBytesAtOnce = 8 * KiB

function isLarge({ raw }: BsonDocument | BsonArray): boolean {
  return raw !== undefined && raw.end - raw.start >= mongoFilterBytesAtOnce
}

/** Identifies a value by its place: a message has one value at a place. */
function placeOf({ raw }: BsonDocument | BsonArray): number {
  return raw === undefined ? -1 : raw.bytes.byteOffset + raw.start
}

/** Parses a filter. If that takes too long here, another thread checks it first. */
function matcherOf(call: CommandCall, spec: FilterSpec): Matcher {
  const { filter, variables } = spec
  if (!isLarge(filter)) return prepareFilter(spec)
  const { start, end } = filter.raw!
  return computed(call, {
    ...{ of: 'parsing', inputs: { filter }, document: emptyDocument.raw!.bytes },
    key: `parsing ${placeOf(filter)}`,
    variables: () => variables,
    here: () => {
      // A byte may take a step. If there are very many, it is not even tried.
      spend(end - start)
      return prepareFilter(spec)
    },
    read: result => (hasOrder(result) ? prepareFilter(spec) : prepareKnownFilter(spec)),
  })
}

/** Commands accept `$near`, which also says which document comes first. Stages do not. */
export function compileCallFilter(call: CommandCall, filter: BsonDocument, collation: Collation | undefined): Matcher {
  const matcher = matcherOf(call, { filter, variables: variablesOf(call, collation), allowsNear: true })
  const computedFor = <T>(document: Uint8Array, here: () => T, read: (result: BsonDocument) => T): T =>
    computed(call, {
      ...{ of: 'filter', inputs: { filter }, document, here, read },
      variables: () => variablesOf(call, collation),
    })
  return {
    ...matcher,
    matches: document =>
      isWatched() ? matcher.matches(document) : computedFor(document, () => matcher.matches(document), isMatch),
    position: document => computedFor(document, () => matcher.position(document), matchPosition),
  }
}

/** For one of several statements: the command cannot begin again. */
export function compileStatementFilter(
  call: CommandCall,
  filter: BsonDocument,
  collation: Collation | undefined,
): MaybePromise<Matcher> {
  const compile = () => compileCallFilter(call, filter, collation)
  return isLarge(filter) ? withElsewhere(call, compile) : compile()
}

export function compileCallProjection(
  call: CommandCall,
  spec: BsonDocument | undefined,
  collation: Collation | undefined,
): Projection | undefined {
  if (spec === undefined || spec.isEmpty) return undefined
  const projection = prepareProjection(spec, variablesOf(call, collation))
  return {
    ...projection,
    project: (document, position) =>
      isWatched()
        ? projection.project(document, position)
        : computed(call, {
            ...{ of: 'projection', inputs: { projection: spec, position }, document, read: madeDocument },
            variables: () => variablesOf(call, collation),
            here: () => projection.project(document, position),
          }),
  }
}

/** An update of a command, and of one of its statements, which has variables of its own. */
export interface CallUpdate {
  readonly update: BsonDocument | BsonArray
  readonly arrayFilters: BsonArray | undefined
  readonly isMulti?: boolean | undefined
  readonly constants?: BsonDocument | undefined
  readonly collation: Collation | undefined
}

/** It takes too long to compile it here. */
function applyElsewhere(): never {
  throw new WorkTooLong()
}

export function compileCallUpdate(
  call: CommandCall,
  { update, arrayFilters, isMulti = false, constants, collation }: CallUpdate,
): CompiledUpdate {
  const own = constants === undefined ? [] : letValues(call, constants, collation).fields
  const fields = [...(letOf(call, collation)?.fields ?? []), ...own]
  const variables: CommandVariables = {
    constants: constantsOf(call, collation),
    let: fields.length === 0 ? undefined : BsonDocument.of(fields),
  }
  const pipeline = (stages: BsonArray) => updatePipeline(commandScope(variables), namespaceOf(call))(stages)
  const compile = () => compileUpdate(update, { arrayFilters, isMulti, pipeline, collation })
  const inputs = { update, arrayFilters, isMulti }
  const compiled =
    isLarge(update) || (arrayFilters !== undefined && isLarge(arrayFilters))
      ? computed(call, {
          ...{ of: 'compiling', inputs, document: emptyDocument.raw!.bytes, here: compile },
          key: `compiling ${placeOf(update)}`,
          variables: () => variables,
          read: result => ({ ...updateForm(result), apply: applyElsewhere }),
        })
      : compile()
  return {
    ...compiled,
    apply: (document, context) =>
      computed(call, {
        ...{ of: 'update', inputs: { ...inputs, ...context }, document },
        variables: () => variables,
        here: () => compiled.apply(document, context),
        read: result => updatedDocument(result, document),
      }),
  }
}
