/**
 * The Stable API: `apiVersion`, `apiStrict` and `apiDeprecationErrors`. There is version 1, and nothing in it
 * is deprecated.
 */

import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Arguments } from './arguments.ts'

const commands: ReadonlySet<string> = new Set([
  'abortTransaction',
  'aggregate',
  'collMod',
  'commitTransaction',
  'count',
  'create',
  'createIndexes',
  'delete',
  'deleteIndexes',
  'drop',
  'dropDatabase',
  'dropIndexes',
  'endSessions',
  'explain',
  'find',
  'findAndModify',
  'findandmodify',
  'getMore',
  'hello',
  'insert',
  'killCursors',
  'listCollections',
  'listDatabases',
  'listIndexes',
  'ping',
  'refreshSessions',
  'saslContinue',
  'saslStart',
  'update',
])

/** Fields of find that are not in version 1. */
const unstableFindFields = [
  'min',
  'max',
  'returnKey',
  'showRecordId',
  'tailable',
  'awaitData',
  'oplogReplay',
  'noCursorTimeout',
  'allowPartialResults',
  'term',
] as const

const unstableStages: ReadonlySet<string> = new Set([
  '$collStats',
  '$currentOp',
  '$fill',
  '$indexStats',
  '$listLocalSessions',
  '$listSearchIndexes',
  '$listSessions',
  '$planCacheStats',
  '$search',
  '$searchMeta',
  '$vectorSearch',
])

function isApiParameter(name: string): boolean {
  // Every command is asked: the first letter decides for most names.
  return name.charCodeAt(0) === 0x61 && name.startsWith('api')
}

/** Refuses what the client's version of the API does not have. */
export function checkStableApi({ name }: { readonly name: string }, args: Arguments): void {
  if (!args.names.some(isApiParameter)) return
  const version = args.string('apiVersion')
  const isStrict = args.flag('apiStrict')
  args.flag('apiDeprecationErrors')
  if (version === undefined) {
    throw new CommandError(4886600, 'Provided apiStrict and/or apiDeprecationErrors without passing apiVersion')
  }
  if (version !== '1') throw new CommandError('APIVersionError', 'API version must be "1"')
  if (isStrict) checkStrict(name, args)
}

function checkStrict(name: string, args: Arguments): void {
  if (!commands.has(name)) {
    throw new CommandError(
      'APIStrictError',
      `Provided apiStrict:true, but the command ${name} is not in API Version 1. Information on supported commands ` +
        'and migrations in API Version 1 can be found at https://dochub.mongodb.org/core/manual-versioned-api',
    )
  }
  if (name === 'find') {
    for (const field of unstableFindFields) {
      if (!args.has(field)) continue
      throw new CommandError('APIStrictError', `BSON field 'find.${field}' is not allowed with apiStrict:true.`)
    }
  }
  if (name === 'aggregate') checkStages(args.array('pipeline'))
}

/** Also looks into the pipelines within stages. Recurses as deep as documents nest. */
function checkStages(pipeline: Value | undefined): void {
  for (const stage of pipeline?.type === bsonType.array ? pipeline.elements : []) {
    const [name, spec] = (stage.type === bsonType.document && stage.fields[0]) || []
    if (name === undefined || spec === undefined) continue
    if (unstableStages.has(name) && !isOnlyCount(name, spec)) {
      throw new CommandError('APIStrictError', `${name} is not allowed with 'apiStrict: true' in API Version 1`)
    }
    if (spec.type !== bsonType.document) continue
    if (name === '$facet') for (const [, inner] of spec.fields) checkStages(inner)
    else checkStages(spec.get('pipeline'))
  }
}

/** `{ $collStats: { count: {} } }` is how drivers count. */
function isOnlyCount(name: string, spec: Value): boolean {
  return name === '$collStats' && spec.type === bsonType.document && spec.fields.every(([field]) => field === 'count')
}

/** The parameters as text, to compare those of commands that belong together; undefined without any. */
export function apiParameters(args: Arguments): string | undefined {
  let shown: string | undefined
  for (const name of args.names) {
    if (!isApiParameter(name)) continue
    const value = args.value(name)
    if (value?.type !== bsonType.string && value?.type !== bsonType.bool) continue
    shown = `${shown === undefined ? '' : `${shown}, `}${name}: ${JSON.stringify(value.value)}`
  }
  return shown
}

/** Commands that belong together must have the same parameters. `first` is the command that began. */
export function requireSameApi(args: Arguments, api: string | undefined, first: string): void {
  const own = apiParameters(args)
  if (own === api) return
  throw new CommandError(
    'APIMismatchError',
    `API parameter mismatch: ${args.name} used params { ${own ?? ''} }, the ${first} used { ${api ?? ''} }`,
  )
}
