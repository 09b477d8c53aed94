/**
 * `$changeStreamSplitLargeEvent`: an event that is too large for one document comes in fragments.
 *
 * The fields at the root stay whole. As in MongoDB the small ones come first, so that the first fragments say
 * what happened.
 */

import { BsonDocument, type Field } from '../../document/bson/value.ts'
import { bsonBytesMax, encodeDocument } from '../../document/bson/writer.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields } from '../answers/fields.ts'

/** MongoDB allows results to be a little larger than stored documents. */
export const eventBytesMax = bsonBytesMax + 16 * 1024

/** Room in a fragment for its token and its number. */
const fragmentHeadBytes = 1024

/** `tokenOf` makes the token of a fragment; fragments count from 0. */
export function splitEvent(event: Uint8Array, tokenOf: (fragment: number) => BsonDocument): Uint8Array[] {
  const sized = BsonDocument.view(event)
    .fields.filter(([name]) => name !== '_id')
    .map((field): { field: Field; bytes: number } => ({ field, bytes: encodeDocument([field]).length }))
    .sort((a, b) => a.bytes - b.bytes)
  const fragments: Field[][] = []
  let room = 0
  for (const { field, bytes } of sized) {
    if (bytes > eventBytesMax - fragmentHeadBytes) {
      throw new CommandError('ChangeStreamFatalError', `The field ${field[0]} of an event is too large for a fragment.`)
    }
    if (bytes > room) {
      fragments.push([])
      room = eventBytesMax - fragmentHeadBytes
    }
    fragments.at(-1)!.push(field)
    room -= bytes
  }
  return fragments.map((fields, index) =>
    encodeDocument([
      ['_id', tokenOf(index)],
      ['splitEvent', BsonDocument.view(encodeFields({ fragment: index + 1, of: fragments.length }))],
      ...fields,
    ]),
  )
}
