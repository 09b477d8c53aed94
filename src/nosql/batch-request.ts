/** The operations of a batch or bulk request, as JSON carries them. */

import { RequestError } from '../base/error.ts'
import { batchOperationsMax, nestingDepthMax } from '../base/limits.ts'
import { fieldOf, invalidInputText, isJsonObject, type JsonObject, malformed } from './definition-input.ts'
import { parseAnyDepth, tooDeep } from './item-body.ts'
import type { ItemOperation } from './item-operation.ts'
import { memberTexts } from './json-text.ts'

/** An operation before anybody knows whether it can be done. */
export interface BatchOperation {
  readonly kind: ItemOperation['kind']
  readonly id: string | undefined
  /** As in the header: a JSON array. */
  readonly partitionKey: string | undefined
  /** The item or the patch, as written and as parsed. */
  readonly body: { readonly text: string; readonly parsed: unknown } | undefined
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  /** The client does not want to see what was written. */
  readonly isMinimal: boolean
}

const kinds = ['create', 'upsert', 'replace', 'delete', 'read', 'patch'] as const

export function parseBatch(text: string): BatchOperation[] {
  const parsed = parseAnyDepth(text)
  if (!Array.isArray(parsed)) malformed(invalidInputText)
  checkCount(parsed.length)
  if (!parsed.every(isJsonObject)) malformed(invalidInputText)
  const bodies = memberTexts(text, 'resourceBody', nestingDepthMax) ?? tooDeep()
  return parsed.map((operation, at) => readOperation(operation, bodies[at]))
}

export function checkCount(operations: number): void {
  if (operations === 0) malformed('Batch request has no operations.')
  if (operations > batchOperationsMax) malformed('Batch request has more operations than what is supported.')
}

function readOperation(input: JsonObject, body: string | undefined): BatchOperation {
  const word = textIn(input, 'operationType')?.toLowerCase()
  const kind = kinds.find(each => each === word)
  if (kind === undefined) malformed(invalidInputText)
  const parsed = fieldOf(input, 'resourceBody')
  return {
    kind,
    id: textIn(input, 'id'),
    partitionKey: textIn(input, 'partitionKey'),
    body: parsed === undefined ? undefined : { parsed, text: body! },
    ifMatch: textIn(input, 'ifMatch'),
    ifNoneMatch: textIn(input, 'ifNoneMatch'),
    isMinimal: fieldOf(input, 'minimalReturnPreference') === true,
  }
}

function textIn(input: JsonObject, name: string): string | undefined {
  const value = fieldOf(input, name)
  if (value !== undefined && typeof value !== 'string') throw new RequestError('malformed', invalidInputText)
  return value
}
