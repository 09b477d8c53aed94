/**
 * Reads the change feed of all versions and deletes as the SDK does, and says what it tells in a few words.
 */

import {
  ChangeFeedMode,
  ChangeFeedPolicy,
  type ChangeFeedPullModelIterator,
  ChangeFeedRetentionTimeSpan,
  type ChangeFeedStartFrom,
  type Container,
} from '@azure/cosmos'

export interface Change {
  current: { id?: string; v?: number }
  previous?: { id: string; v?: number }
  metadata: {
    lsn: number
    crts: number
    operationType: 'create' | 'replace' | 'delete'
    previousImageLSN?: number
    timeToLiveExpired?: boolean
    id?: string
    partitionKey?: object
  }
}

/** What a container needs to have such a feed. */
export const changeFeedPolicy = new ChangeFeedPolicy(ChangeFeedRetentionTimeSpan.fromMinutes(5))

export function allVersions(
  container: Container,
  changeFeedStartFrom: ChangeFeedStartFrom,
  options = {},
): ChangeFeedPullModelIterator<Change> {
  return container.items.getChangeFeedIterator<Change>({
    changeFeedStartFrom,
    changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
    ...options,
  })
}

/** `create one 1`, `delete one`, `expire one`: what a change says. */
export function told(changes: readonly Change[]): string[] {
  return changes.map(({ current, metadata }) => {
    const { operationType, id, timeToLiveExpired } = metadata
    const what = timeToLiveExpired === true ? 'expire' : operationType
    return operationType === 'delete' ? `${what} ${id}` : `${what} ${current.id} ${current.v}`
  })
}
