/**
 * Compiles filters, sorts, projections and updates of a command, with its time, its variables and its
 * collation.
 */

import { isWatched } from '../../base/work.ts'
import { type BsonArray, BsonDocument, type Field } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { computeLet, isMatch, madeDocument, matchPosition, updatedDocument } from '../../mql/evaluation.ts'
import type { CommandVariables, Constants } from '../../mql/expressions/core/scope.ts'
import type { Matcher } from '../../mql/filter/match.ts'
import { commandScope } from '../../mql/pipeline/pipeline.ts'
import { updatePipeline } from '../../mql/pipeline/update-pipeline.ts'
import { prepareFilter, prepareProjection } from '../../mql/prepare.ts'
import type { Projection } from '../../mql/projection/projection.ts'
import { type CompiledUpdate, compileUpdate } from '../../mql/update/update.ts'
import { emptyDocument } from '../answers/fields.ts'
import { namespaceOf } from '../requests/namespace.ts'
import type { CommandCall } from './command.ts'
import { computed } from './elsewhere.ts'

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
    given.fields.map(([name, spec]): Field => {
      const value = values.get(name)
      return [name, value === undefined ? spec : BsonDocument.of([['$literal', value]])]
    }),
  )
}

/** Commands accept `$near`, which also says which document comes first. Stages do not. */
export function compileCallFilter(call: CommandCall, filter: BsonDocument, collation: Collation | undefined): Matcher {
  const matcher = prepareFilter({ filter, variables: variablesOf(call, collation), allowsNear: true })
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
  const pipeline = updatePipeline(commandScope(variables), namespaceOf(call))
  const compiled = compileUpdate(update, { arrayFilters, isMulti, pipeline, collation })
  return {
    ...compiled,
    apply: (document, context) =>
      computed(call, {
        ...{ of: 'update', inputs: { update, arrayFilters, isMulti, ...context }, document },
        variables: () => variables,
        here: () => compiled.apply(document, context),
        read: result => updatedDocument(result, document),
      }),
  }
}
