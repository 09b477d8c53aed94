/** Parses the JSON of requests: UTF-8 only, limited in depth, with the service's error texts. */

import { isAscii, isUtf8 } from 'node:buffer'
import { RequestError } from '../../base/error.ts'
import { nestingDepthMax } from '../../base/limits.ts'
import { depthOf } from './json-text.ts'

/** Parses any JSON. The depth is limited so that code that walks the result cannot overflow the stack. */
export function parseJson(text: string): unknown {
  checkJsonDepth(text)
  return parseAnyDepth(text)
}

/** For callers that limit the depth themselves. */
export function parseAnyDepth(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RequestError('malformed', invalidJson, { cause: error })
  }
}

export function decodeJson(body: Buffer): string {
  // Four times as fast for the most common case.
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

/** The error for an operation of a batch whose item is missing. */
export function missingBody(): RequestError {
  return new RequestError('malformed', invalidJson)
}

/** JSON.parse accepts any depth, but code that walks the result recurses. */
export function checkJsonDepth(text: string): void {
  if (mayBeTooDeep(text) && depthOf(text, nestingDepthMax) > nestingDepthMax) refuseTooDeep()
}

export function refuseTooDeep(): never {
  throw new RequestError('malformed', `The JSON is nested deeper than the ${nestingDepthMax} levels allowed.`)
}

/** Text with few opening brackets cannot be deep. Searching for them natively is far cheaper than a walk. */
export function mayBeTooDeep(text: string): boolean {
  let found = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++found > nestingDepthMax) return true
    }
  }
  return false
}
