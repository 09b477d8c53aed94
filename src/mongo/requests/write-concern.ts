/**
 * Write concerns. There is one member, and a write is durable before it is answered: `w` up to 1, `majority`
 * and `j` hold for every write. A concern that cannot be met is reported beside the result of the write, as
 * in MongoDB.
 */

import { isNumeric } from '../../document/bson/number.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import { printValue } from '../../mql/errors/print.ts'
import { CommandError } from '../answers/command-error.ts'
import { type ErrorCodeName, errorCodes } from '../answers/error-codes.ts'
import type { Fields } from '../answers/fields.ts'
import { type Arguments, numberOf } from './arguments.ts'

/** The most members of a replica set. */
const membersMax = 50

const fields: ReadonlySet<string> = new Set(['w', 'j', 'fsync', 'wtimeout', 'getLastError', 'provenance'])

/** Commands that write nothing, and so have no write concern. */
const readingCommands: ReadonlySet<string> = new Set([
  'find',
  'count',
  'distinct',
  'getMore',
  'killCursors',
  'explain',
  'listCollections',
  'listDatabases',
  'listIndexes',
  'collStats',
  'collstats',
  'dbStats',
  'dbstats',
  'ping',
])

/** Checks the write concern of a command. Returns what its answer must say if it cannot be met. */
export function writeConcernErrorOf({ name }: { readonly name: string }, args: Arguments): Fields | undefined {
  if (!args.has('writeConcern')) return undefined
  const concern = args.within('writeConcern')
  if (concern === undefined) return undefined
  if (readingCommands.has(name) || (name === 'aggregate' && !isWriting(args))) {
    throw new CommandError('InvalidOptions', 'Command does not support writeConcern')
  }
  if (args.has('autocommit') && name !== 'commitTransaction' && name !== 'abortTransaction') {
    throw new CommandError('InvalidOptions', 'writeConcern is not allowed within a multi-statement transaction')
  }
  concern.refuseUnknown(fields)
  concern.number('wtimeout')
  if (concern.flag('j') && concern.flag('fsync')) {
    throw new CommandError('FailedToParse', 'fsync and j options cannot be used together')
  }
  const w = concern.present('w')
  const [code, errmsg] = (w && unsatisfied(w)) ?? []
  if (code === undefined) return undefined
  const shown = { w, wtimeout: concern.number('wtimeout') ?? 0, provenance: 'clientSupplied' }
  return { code: errorCodes[code], codeName: code, errmsg, errInfo: { writeConcern: shown } }
}

function isWriting(args: Arguments): boolean {
  const last = args.array('pipeline')?.elements.at(-1)
  return last?.type === bsonType.document && ['$out', '$merge'].includes(last.fields[0]?.[0] ?? '')
}

function unsatisfied(w: Value): readonly [ErrorCodeName, string] | undefined {
  if (isNumeric(w)) {
    const members = numberOf(w)!
    if (!(members >= 0 && members <= membersMax)) {
      throw new CommandError(
        'FailedToParse',
        `w has to be a non-negative number and not greater than ${membersMax}; found: ${printValue(w)}`,
      )
    }
    return members > 1 ? ['UnsatisfiableWriteConcern', 'Not enough data-bearing nodes'] : undefined
  }
  if (w.type === bsonType.string) {
    if (w.value === 'majority' || w.value === '') return undefined
    return ['UnknownReplWriteConcern', `No write concern mode named '${w.value}' found in replica set configuration`]
  }
  if (w.type === bsonType.document) {
    if (w.isEmpty) throw new CommandError('FailedToParse', 'tagged write concern requires tags')
    return ['UnsatisfiableWriteConcern', 'Not enough data-bearing nodes']
  }
  throw new CommandError('FailedToParse', `w has to be a number, string, or object; found: ${typeName(w.type)}`)
}
