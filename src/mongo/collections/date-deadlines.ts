/** Whether the deadlines in a collection are dates in its documents, which do not count from a write. */

import type { ContainerRecord } from '../../store/catalog.ts'
import type { StoredDefinition } from './collection-definition.ts'

export function hasDateDeadlines({ encoding, definition }: ContainerRecord): boolean {
  return encoding === 'bson' && (definition as StoredDefinition).deadlines === 'dates'
}
