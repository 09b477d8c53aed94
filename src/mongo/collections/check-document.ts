/** Says what is wrong with a stored document: where its row and its bytes do not agree. */

import { storedId } from '../../document/bson/document-id.ts'
import { validateDocument } from '../../document/bson/validate.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ScannedItem } from '../../store/item.ts'
import { ownDeadline } from '../../ttl/lifespan.ts'
import { collectionOf } from './collections.ts'
import { lifeOf } from './document-life.ts'

export function wrongWithDocument(
  container: ContainerRecord,
  { key, ts, deadline, body }: ScannedItem,
): string | undefined {
  const document = body as Uint8Array
  try {
    validateDocument(document, { end: document.length })
  } catch (error) {
    return `is no valid BSON: ${(error as Error).message}`
  }
  const collection = collectionOf(container)
  const expected = collection.keyOf(storedId(document), document)
  if (expected.id !== key.id) return 'has another _id in its bytes.'
  if (expected.pk !== key.pk || expected.epk !== key.epk) return 'belongs to another shard by its bytes.'
  // Without a deadline it inherits: whether ttl counts can be switched while the server runs.
  if (deadline === null || collection.definition.deadlines === 'dates') return undefined
  const { ttl, until } = lifeOf(collection, document, { isDocumentTtlOn: true })
  const due = ownDeadline(ttl, ts, until)
  return due === deadline ? undefined : `has the deadline ${deadline}; by its ttl it would be ${due}.`
}
