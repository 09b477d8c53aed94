/** Parses the operations of a batch or bulk request in JSON. */

import { RequestError } from '../../base/error.ts'
import { fieldOf, invalidInputText, type JsonObject, malformed } from '../definitions/definition-input.ts'
import type { ContainerView } from '../http/container-view.ts'
import { namesIn } from '../items/item-bytes.ts'
import type { ItemOperation } from '../items/item-operation.ts'
import { type FoundMember, FoundTexts, type Members, Names, scanObjects } from '../json/json-bytes.ts'

const batchOperationsMax = 100

/** An operation as parsed, before it is validated. */
export interface BatchOperation {
  readonly kind: ItemOperation['kind']
  readonly id: string | undefined
  /** A JSON array, as in the header. */
  readonly partitionKey: string | undefined
  /** The item or the patch, as text and parsed. Of an item only the needed members are parsed. */
  readonly body: { readonly text: string; readonly parsed: unknown } | undefined
  readonly ifMatch: string | undefined
  readonly ifNoneMatch: string | undefined
  /** The client does not want the written item back. */
  readonly isMinimal: boolean
}

const kinds = ['create', 'upsert', 'replace', 'delete', 'read', 'patch'] as const

const fields = ['operationType', 'id', 'partitionKey', 'ifMatch', 'ifNoneMatch', 'minimalReturnPreference']
const bodyField = 'resourceBody'

const names = new WeakMap<ContainerView, Names>()

function namesFor(view: ContainerView): Names {
  let found = names.get(view)
  if (found === undefined) {
    found = new Names([...fields, bodyField], { [bodyField]: namesIn(view) })
    names.set(view, found)
  }
  return found
}

export function parseBatch(body: Buffer, view: ContainerView): BatchOperation[] {
  const texts = new FoundTexts(body)
  const operations = scanObjects(body, namesFor(view)) ?? malformed(invalidInputText)
  checkCount(operations.length)
  return operations.map(members => readOperation(members, texts))
}

export function checkCount(operations: number): void {
  if (operations === 0) malformed('Batch request has no operations.')
  if (operations > batchOperationsMax) malformed('Batch request has more operations than what is supported.')
}

function readOperation(members: Members, texts: FoundTexts): BatchOperation {
  const body = members.get(bodyField)
  members.delete(bodyField)
  const input = texts.objectOf(members)
  const word = textIn(input, 'operationType')?.toLowerCase()
  const kind = kinds.find(each => each === word)
  if (kind === undefined) malformed(invalidInputText)
  return {
    kind,
    id: textIn(input, 'id'),
    partitionKey: textIn(input, 'partitionKey'),
    body: body === undefined ? undefined : bodyOf(kind, body, texts),
    ifMatch: textIn(input, 'ifMatch'),
    ifNoneMatch: textIn(input, 'ifNoneMatch'),
    isMinimal: fieldOf(input, 'minimalReturnPreference') === true,
  }
}

/** A patch is parsed as a whole; of an item only the needed members. */
function bodyOf(kind: BatchOperation['kind'], found: FoundMember, texts: FoundTexts): BatchOperation['body'] {
  const text = texts.textOf(found)
  if (kind === 'patch' || found.members === undefined) {
    const parsed = texts.valueOf(found)
    return parsed === null ? undefined : { text, parsed }
  }
  return { text, parsed: texts.objectOf(found.members) }
}

function textIn(input: JsonObject, name: string): string | undefined {
  const value = fieldOf(input, name)
  if (value !== undefined && typeof value !== 'string') throw new RequestError('malformed', invalidInputText)
  return value
}
