/** Converts between strings and other values, through JSON. Text that is not JSON becomes undefined. */

import { nestingDepthMax } from '../../base/limits.ts'
import { type TypeName, typeOf } from '../values/compare.ts'
import { checkLength, queryStringCharsMax } from '../values/strings.ts'
import { approximateBytes, type SqlValue } from '../values/value.ts'
import { type BuiltIn, define, type FunctionFamily, onString } from './define.ts'

/** Parses the string and returns the result if it has the wanted type. */
function parseAs(type: TypeName): BuiltIn {
  return onString(text => {
    if (isTooDeep(text)) return undefined
    const value = parse(text)
    // JSON.parse reads 1e999 as infinity, which is not a JSON value.
    return typeOf(value) === type && value !== Number.POSITIVE_INFINITY && value !== Number.NEGATIVE_INFINITY
      ? value
      : undefined
  })
}

function parse(text: string): SqlValue {
  try {
    return JSON.parse(text) as SqlValue
  } catch {
    return undefined
  }
}

/** JSON.parse accepts any depth, but later recursive walks over the result do not. */
function isTooDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const character = text.charAt(at)
    if (isInString && character === '\\') at += 1
    else if (character === '"') isInString = !isInString
    else if (isInString) continue
    else if (character === '[' || character === '{') depth += 1
    else if (character === ']' || character === '}') depth -= 1
    if (depth > nestingDepthMax) return true
  }
  return false
}

export const conversionFunctions: FunctionFamily = {
  'STRINGTOARRAY STRING_TO_ARRAY': parseAs('array'),
  'STRINGTOBOOLEAN STRING_TO_BOOLEAN': parseAs('boolean'),
  'STRINGTONULL STRING_TO_NULL': parseAs('null'),
  'STRINGTONUMBER STRING_TO_NUMBER': parseAs('number'),
  'STRINGTOOBJECT STRING_TO_OBJECT': parseAs('object'),
  'TOSTRING TO_STRING': define(1, 1, ([value]) => {
    if (value === undefined || typeof value === 'string') return value
    checkLength(approximateBytes(value, queryStringCharsMax))
    return JSON.stringify(value)
  }),
}
