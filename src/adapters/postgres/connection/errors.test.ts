import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isLost } from './errors.ts'

function failure(code: string, message: string): Error {
  return Object.assign(new Error(message), { code })
}

test('a commit that Citus has not heard the end of may have happened, an internal error of PostgreSQL has not', () => {
  const unheard = 'could not commit transaction for shard 102011 on at least one active node'
  assert.equal(isLost(failure('XX000', unheard)), true)
  assert.equal(isLost(failure('XX000', 'postmaster was shut down, exiting')), true)
  assert.equal(isLost(failure('08006', 'connection to the remote node db2:5432 failed')), true)
  assert.equal(isLost(failure('XX000', 'cache lookup failed for type 0')), false)
})
