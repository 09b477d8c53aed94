/** Assertions about errors in the service's format, and about failures of the SDK. */

import assert from 'node:assert/strict'
import type { RawAnswer } from './signed-request.ts'

const codes: Readonly<Record<number, string>> = {
  400: 'BadRequest',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'NotFound',
  405: 'MethodNotAllowed',
  409: 'Conflict',
  410: 'Gone',
  412: 'PreconditionFailed',
  413: 'RequestEntityTooLarge',
  429: 'TooManyRequests',
}

const guid = '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}'
const messageShape = new RegExp(`^Message: (\\{"Errors":\\[.*\\]\\})\\r\\nActivityId: (${guid}), `, 's')

/** The text inside the service's wrapping; checks everything around it. */
export function assertServiceError(answer: RawAnswer, status: number, substatus?: number): string {
  assert.equal(answer.status, status, answer.text)
  assert.equal(answer.headers['content-type'], 'application/json')
  assert.equal(answer.headers['x-ms-substatus'], substatus === undefined ? undefined : String(substatus))
  assert.match(String(answer.headers['x-ms-request-charge']), /^\d+(\.\d+)?$/)
  assert.deepEqual(Object.keys(answer.json), ['code', 'message'])
  assert.equal(answer.json.code, codes[status])
  const [, errors, activityId] = messageShape.exec(answer.json.message) ?? assert.fail(answer.json.message)
  assert.equal(activityId, answer.headers['x-ms-activity-id'])
  const texts = JSON.parse(errors!).Errors
  assert.equal(texts.length, 1)
  return texts[0]
}

/** The code with which a call of the SDK fails. The call must fail. */
export async function failureOf(promise: Promise<unknown>): Promise<number> {
  try {
    await promise
  } catch (error) {
    const { code } = error as { code?: number }
    if (typeof code === 'number') return code
    throw error
  }
  assert.fail('the call should have failed')
}
