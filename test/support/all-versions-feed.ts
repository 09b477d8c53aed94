/** Reads the change feed of all versions and deletes with the SDK, and prints each change in a few words. */

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

/** The policy that a container needs for such a feed. */
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

/** Changes as text: `create one 1`, `delete one`, `expire one`. */
export function told(changes: readonly Change[]): string[] {
  return changes.map(({ current, metadata }) => {
    const { operationType, id, timeToLiveExpired } = metadata
    const what = timeToLiveExpired === true ? 'expire' : operationType
    return operationType === 'delete' ? `${what} ${id}` : `${what} ${current.id} ${current.v}`
  })
}
