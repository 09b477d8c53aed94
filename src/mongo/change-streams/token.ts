/**
 * Resume tokens: the place of a change stream, in a form that clients keep and send back.
 *
 * A token names a tick of the journal, and the second in which it was made: after a day nobody knows what
 * came behind it. After an invalidate token a stream is over; only a new stream can start there
 * (`startAfter`). Tokens of earlier versions had a position in the log of each collection.
 */

import { RequestError } from '../../base/error.ts'
import { MiB } from '../../base/limits.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import type { ChangePosition } from '../../store/reading.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields } from '../answers/fields.ts'

/** An old token has a position for each watched collection, so it may be long. */
const mongoTokenBytesMax = 1 * MiB

export interface StreamPosition {
  readonly tick: number
  readonly seconds: number
  readonly isInvalidate: boolean
  /** The next event is the invalidation that this one causes. */
  readonly owesInvalidate: boolean
  /** Of an event that was split: the place of this fragment, from 0. */
  readonly fragment: number | undefined
}

/** By container number. */
export type OldPositions = ReadonlyMap<number, ChangePosition>

interface Stored {
  readonly t: number
  readonly s: number
  readonly i?: true
  readonly o?: true
  readonly f?: number
}

interface OldStored {
  readonly p: Readonly<Record<string, ChangePosition>>
  readonly i?: true
}

export function tokenOf({ tick, seconds, isInvalidate, owesInvalidate, fragment }: StreamPosition): BsonDocument {
  const stored: Stored = {
    t: tick,
    s: seconds,
    ...(isInvalidate && { i: true }),
    ...(owesInvalidate && { o: true }),
    ...(fragment !== undefined && { f: fragment }),
  }
  return BsonDocument.view(encodeFields({ _data: Buffer.from(JSON.stringify(stored)).toString('hex').toUpperCase() }))
}

export type ParsedToken =
  | { readonly kind: 'place'; readonly position: StreamPosition }
  | { readonly kind: 'old'; readonly positions: OldPositions; readonly isInvalidate: boolean }

export function parseToken(token: Value): ParsedToken {
  const data = token.type === bsonType.document ? token.get('_data') : undefined
  if (data?.type !== bsonType.string || data.value.length > mongoTokenBytesMax) return refuse()
  try {
    const stored = JSON.parse(Buffer.from(data.value, 'hex').toString()) as Stored | OldStored
    return 'p' in stored ? oldToken(stored) : { kind: 'place', position: placeOf(stored) }
  } catch (error) {
    if (error instanceof RequestError) throw error
    return refuse()
  }
}

function placeOf({ t, s, i, o, f }: Stored): StreamPosition {
  if (!isCount(t) || !isCount(s) || (f !== undefined && !isCount(f))) return refuse()
  return { tick: t, seconds: s, isInvalidate: i === true, owesInvalidate: o === true, fragment: f }
}

function isCount(value: unknown): boolean {
  return Number.isSafeInteger(value) && (value as number) >= 0
}

function oldToken({ p, i }: OldStored): ParsedToken {
  const positions = new Map<number, ChangePosition>()
  for (const [container, position] of Object.entries(p)) {
    if (!/^\d{1,15}$/.test(container) || typeof position !== 'string') refuse()
    positions.set(Number(container), position)
  }
  return { kind: 'old', positions, isInvalidate: i === true }
}

function refuse(): never {
  throw new CommandError('InvalidResumeToken', 'Failed to parse the resume token: it is none of ours.')
}
