/**
 * Resume tokens: the position of a change stream, in a form that clients keep and send back.
 *
 * A stream may read several logs, so a token has a position in each. After an invalidate token a stream is
 * over; only a new stream can start there (`startAfter`).
 */

import { RequestError } from '../../base/error.ts'
import { MiB } from '../../base/limits.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import type { ChangePosition } from '../../store/reading.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields } from '../answers/fields.ts'

/** A resume token has a position for each watched collection, so it may be long. */
const mongoTokenBytesMax = 1 * MiB

export interface StreamPosition {
  /** By container number. */
  readonly positions: ReadonlyMap<number, ChangePosition>
  readonly isInvalidate: boolean
}

interface Stored {
  readonly p: Readonly<Record<string, ChangePosition>>
  readonly i?: true
}

export function tokenOf({ positions, isInvalidate }: StreamPosition): BsonDocument {
  const stored: Stored = { p: Object.fromEntries(positions), ...(isInvalidate && { i: true }) }
  return BsonDocument.view(encodeFields({ _data: Buffer.from(JSON.stringify(stored)).toString('hex').toUpperCase() }))
}

export function streamPositionOf(token: Value): StreamPosition {
  const data = token.type === bsonType.document ? token.get('_data') : undefined
  if (data?.type !== bsonType.string || data.value.length > mongoTokenBytesMax) return refuse()
  try {
    const { p, i } = JSON.parse(Buffer.from(data.value, 'hex').toString()) as Stored
    const positions = new Map<number, ChangePosition>()
    for (const [container, position] of Object.entries(p)) {
      if (!/^\d{1,15}$/.test(container) || typeof position !== 'string') refuse()
      positions.set(Number(container), position)
    }
    return { positions, isInvalidate: i === true }
  } catch (error) {
    if (error instanceof RequestError) throw error
    return refuse()
  }
}

function refuse(): never {
  throw new CommandError('InvalidResumeToken', 'Failed to parse the resume token: it is none of ours.')
}
