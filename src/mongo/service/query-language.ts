/**
 * Compiles filters, sorts, projections and updates of a command, with its time, its variables and its
 * collation.
 */

import { BsonDocument, type Field, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { CommandVariables, Constants } from '../../mql/expressions/core/scope.ts'
import type { Matcher } from '../../mql/filter/match.ts'
import { commandScope } from '../../mql/pipeline/pipeline.ts'
import { updatePipeline } from '../../mql/pipeline/update-pipeline.ts'
import { prepareFilter, prepareProjection } from '../../mql/prepare.ts'
import type { Projection } from '../../mql/projection/projection.ts'
import type { CompileUpdatePipeline } from '../../mql/update/update.ts'
import { namespaceOf } from '../requests/namespace.ts'
import type { CommandCall } from './command.ts'

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
  const known = lets.get(call)
  if (known !== undefined) return known
  const scope = commandScope({ constants: constantsOf(call, collation), let: given })
  const values = BsonDocument.of(
    given.fields.map(([name, spec]): Field => {
      const variable = scope.find(name) as { readonly value: Value | undefined }
      return [name, variable.value === undefined ? spec : BsonDocument.of([['$literal', variable.value]])]
    }),
  )
  lets.set(call, values)
  return values
}

/** Commands accept `$near`, which also says which document comes first. Stages do not. */
export function compileCallFilter(call: CommandCall, filter: BsonDocument, collation: Collation | undefined): Matcher {
  return prepareFilter({ filter, variables: variablesOf(call, collation), allowsNear: true })
}

export function compileCallProjection(
  call: CommandCall,
  spec: BsonDocument | undefined,
  collation: Collation | undefined,
): Projection | undefined {
  if (spec === undefined || spec.isEmpty) return undefined
  return prepareProjection(spec, variablesOf(call, collation))
}

/** Each statement of an update has its own variables beside those of the command. */
export function pipelineUpdate(
  call: CommandCall,
  constants: BsonDocument | undefined,
  collation: Collation | undefined,
): CompileUpdatePipeline {
  const fields = [...(letOf(call, collation)?.fields ?? []), ...(constants?.fields ?? [])]
  const scope = commandScope({
    constants: constantsOf(call, collation),
    let: fields.length === 0 ? undefined : BsonDocument.of(fields),
  })
  return updatePipeline(scope, namespaceOf(call))
}
