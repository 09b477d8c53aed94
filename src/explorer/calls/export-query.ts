/** Reads which rows an export asks for: the query of the query screen, in the parameters of an address. */

import { FieldError } from '../http/error-map.ts'
import { partitionKeyField } from '../http/fields.ts'
import type { RowsQuery } from '../service/sides.ts'

/** undefined: everything. */
export function exportQuery(parameters: URLSearchParams): RowsQuery | undefined {
  const given = (name: string) => {
    const text = parameters.get(name) ?? ''
    return text.trim() === '' ? undefined : text
  }
  const [text, sort, projection] = [given('query'), given('sort'), given('projection')]
  const partitionKey = given('partitionKey')
  if (text === undefined) {
    const alone = ['partitionKey', 'sort', 'projection'].find(name => given(name) !== undefined)
    if (alone === undefined) return undefined
    throw new FieldError(alone, `"${alone}" belongs to a query. Name the query as well.`)
  }
  return {
    text,
    ...(partitionKey !== undefined && { partitionKey: partitionKeyField(parsed('partitionKey', partitionKey)) }),
    ...(sort !== undefined && { sort }),
    ...(projection !== undefined && { projection }),
  }
}

function parsed(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new FieldError(name, `"${name}" must be an array with a value for each level, as JSON.`)
  }
}
