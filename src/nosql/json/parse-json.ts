/** Parses the JSON of requests: UTF-8 only, bounded in depth, and refused in the service's words. */

import { isAscii, isUtf8 } from 'node:buffer'
import { RequestError } from '../../base/error.ts'
import { nestingDepthMax } from '../../base/limits.ts'
import { depthOf } from './json-text.ts'

/** JSON of any kind, its depth bounded so that nothing that walks it later can run out of stack. */
export function parseJson(text: string): unknown {
  checkJsonDepth(text)
  return parseAnyDepth(text)
}

/** For those who mind the depth themselves. */
export function parseAnyDepth(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RequestError('malformed', invalidJson, { cause: error })
  }
}

export function decodeJson(body: Buffer): string {
  // A fourth of the time for what is most common.
  if (isAscii(body)) return body.toString('latin1')
  checkUtf8(body)
  return body.toString('utf8')
}

export function checkUtf8(body: Buffer): void {
  if (!isUtf8(body)) refuseJson()
}

export function refuseJson(): never {
  throw new RequestError('malformed', invalidJson)
}

export const invalidJson =
  'The request payload is invalid. Ensure to provide a valid request payload: it must be one JSON object in UTF-8.'

/** An operation of a batch that should have had an item with it. */
export function missingBody(): RequestError {
  return new RequestError('malformed', invalidJson)
}

/** JSON.parse does not care how deep its input is nested, but everything that walks the result would. */
export function checkJsonDepth(text: string): void {
  if (mayBeTooDeep(text) && depthOf(text, nestingDepthMax) > nestingDepthMax) refuseTooDeep()
}

export function refuseTooDeep(): never {
  throw new RequestError('malformed', `The JSON is nested deeper than the ${nestingDepthMax} levels allowed.`)
}

/** Text with few opening brackets cannot be deep; finding them natively is far cheaper than walking. */
export function mayBeTooDeep(text: string): boolean {
  let found = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++found > nestingDepthMax) return true
    }
  }
  return false
}
