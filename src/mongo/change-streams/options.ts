/** The options of a change stream. */

import { bsonType } from '../../document/bson/types.ts'
import type { BsonArray, Value } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import { Arguments } from '../requests/arguments.ts'
import { type ParsedToken, parseToken } from './token.ts'

export interface StreamOptions {
  readonly fullDocument: 'default' | 'updateLookup' | 'whenAvailable' | 'required'
  readonly fullDocumentBeforeChange: 'off' | 'whenAvailable' | 'required'
  readonly isForCluster: boolean
  readonly start:
    | { readonly kind: 'now' }
    | { readonly kind: 'after'; readonly token: ParsedToken }
    | { readonly kind: 'since'; readonly seconds: number; readonly increment: number }
  /** Also events about indexes and options of collections, and more fields in all events. */
  readonly isExpanded: boolean
}

const known: ReadonlySet<string> = new Set([
  'fullDocument',
  'fullDocumentBeforeChange',
  'resumeAfter',
  'startAfter',
  'startAtOperationTime',
  'allChangesForCluster',
  'showExpandedEvents',
  'showMigrationEvents',
  'showSystemEvents',
])

export function nameOfStage(stage: Value | undefined): string | undefined {
  return stage?.type === bsonType.document ? stage.fields[0]?.[0] : undefined
}

export function isChangeStream(stages: BsonArray): boolean {
  return nameOfStage(stages.elements[0]) === '$changeStream'
}

export function parseStreamOptions(spec: Value): StreamOptions {
  if (spec.type !== bsonType.document) {
    throw new CommandError(50808, '$changeStream stage expects a document as argument')
  }
  const args = new Arguments(spec.raw!.bytes, spec.raw!.start, '$changeStream')
  args.refuseUnknown(known)
  return {
    fullDocument: oneOf(args, 'fullDocument', ['default', 'updateLookup', 'whenAvailable', 'required']),
    fullDocumentBeforeChange: oneOf(args, 'fullDocumentBeforeChange', ['off', 'whenAvailable', 'required']),
    isForCluster: args.flag('allChangesForCluster'),
    start: startOf(args),
    isExpanded: args.flag('showExpandedEvents'),
  }
}

function startOf(args: Arguments): StreamOptions['start'] {
  const [resumeAfter, startAfter, since] = ['resumeAfter', 'startAfter', 'startAtOperationTime'].map(name =>
    args.present(name),
  )
  if ([resumeAfter, startAfter, since].filter(value => value !== undefined).length > 1) {
    throw new CommandError(
      40674,
      "Only one type of resume option is allowed: 'resumeAfter', 'startAfter' or 'startAtOperationTime'.",
    )
  }
  if (since !== undefined) {
    if (since.type !== bsonType.timestamp) {
      throw new CommandError('TypeMismatch', "BSON field '$changeStream.startAtOperationTime' is no timestamp")
    }
    return { kind: 'since', seconds: Number(since.value >> 32n), increment: Number(since.value & 0xffff_ffffn) }
  }
  const token = resumeAfter ?? startAfter
  if (token === undefined) return { kind: 'now' }
  const parsed = parseToken(token)
  const isInvalidate = parsed.kind === 'old' ? parsed.isInvalidate : parsed.position.isInvalidate
  if (isInvalidate && resumeAfter !== undefined) {
    throw new CommandError(
      'InvalidResumeToken',
      "Attempting to resume a change stream using 'resumeAfter' is not allowed from an invalidate notification.",
    )
  }
  return { kind: 'after', token: parsed }
}

function oneOf<T extends string>(args: Arguments, name: string, choices: readonly [T, ...T[]]): T {
  const given = args.string(name)
  if (given === undefined) return choices[0]
  const found = choices.find(choice => choice === given)
  if (found === undefined) {
    throw new CommandError(
      'BadValue',
      `Enumeration value '${given}' for field '$changeStream.${name}' is not a valid value.`,
    )
  }
  return found
}
