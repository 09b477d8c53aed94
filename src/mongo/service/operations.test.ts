/** Tests of the limits of running commands. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Operation, type OperationDetails } from './operations.ts'

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

const details = {} as OperationDetails

test('a part of a command without a limit ends when it takes too long, and the command may go on', async () => {
  const operation = new Operation(1, details)
  operation.limit(undefined, false)
  await assert.rejects(operation.part(untilAborted, 1), { message: 'operation exceeded time limit' })
  operation.check()
  assert.equal(await operation.part(async () => 'done', 1), 'done')
})

test('a part ends with its command', async () => {
  for (const maxTimeMs of [undefined, 60_000]) {
    const operation = new Operation(1, details)
    operation.limit(maxTimeMs, false)
    const part = operation.part(untilAborted)
    operation.kill()
    await assert.rejects(part, { message: 'operation was interrupted' })
  }
})
