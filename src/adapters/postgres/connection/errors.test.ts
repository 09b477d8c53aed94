import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCrowded, isLost, isWorkerCrowded, translate } from './errors.ts'
import { whyNot } from './unusable.ts'

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

/** As Citus 11 to 13 report them; the text of the worker may be in its own language. */
const crowded = [
  failure(
    '08006',
    'connection to the remote node mayfly@db2:5432 failed with the following error: ' +
      'FATAL:  too many connections for role "mayfly"',
  ),
  failure(
    '08006',
    'connection to the remote node db2:5432 failed with the following error: FATAL:  sorry, too many clients already',
  ),
  Object.assign(failure('08006', 'connection error: db2:5432'), {
    detail: 'FATAL:  remaining connection slots are reserved for roles with the SUPERUSER attribute',
  }),
  Object.assign(failure('53300', 'zu viele Verbindungen für Rolle »mayfly«'), {
    where: 'while executing command on db2:5432\nSQL statement "SELECT …"',
  }),
]

test('a worker without a free connection is named, whether its code or only its text arrives', () => {
  for (const error of crowded) {
    assert.ok(isCrowded(error) && isWorkerCrowded(error), error.message)
    assert.equal(translate(error).message, 'A worker of the cluster has no connection left.')
    const { message } = whyNot(error, 'postgres://mayfly:secret@db1/shop')
    assert.match(message, /^The worker db2:5432 of the cluster has no connection left for mayfly\. .* CONNECTION LIMIT/)
  }
})

test('PostgreSQL without a free connection is not taken for a worker', () => {
  const error = failure('53300', 'too many connections for role "mayfly"')
  assert.ok(isCrowded(error) && !isWorkerCrowded(error))
  const { message } = whyNot(error, 'postgres://mayfly:secret@db1/shop')
  assert.equal(message, 'PostgreSQL at db1:5432 has no connection left for mayfly.')
})

test('a worker that cannot be reached, or says why in another language, is not taken for the coordinator', () => {
  const refused = 'connection to the remote node mayfly@db2:5432 failed with the following error: FATAL:  zu viele …'
  const error = failure('08006', refused)
  assert.ok(isLost(error) && !isCrowded(error))
  assert.equal(translate(error).message, 'The connection to a worker of the cluster was lost.')
  const { message } = whyNot(error, 'postgres://mayfly:secret@db1/shop')
  assert.equal(message, `PostgreSQL at db1:5432 does not reach a worker of its cluster: ${refused}.`)
})
