/** Reads a change feed until there is nothing new. */

import assert from 'node:assert/strict'
import type { ChangeFeedPullModelIterator } from '@azure/cosmos'

export async function drain<Change>(
  iterator: ChangeFeedPullModelIterator<Change>,
): Promise<{ changes: Change[]; continuation: string }> {
  const changes: Change[] = []
  while (true) {
    const { statusCode, result, continuationToken } = await iterator.readNext()
    if (statusCode === 304) return { changes, continuation: continuationToken }
    assert.equal(statusCode, 200)
    assert.ok(result.length > 0)
    changes.push(...result)
  }
}
