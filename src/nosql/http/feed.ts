/** Feeds of definitions: pages of resources in a stable order, with a continuation. */

import { RequestError } from '../../base/error.ts'
import { pageItemsDefault, pageItemsMax } from '../../base/limits.ts'
import { catalogReadRu } from '../../units/cost.ts'
import { decodeContinuation, encodeContinuation } from './continuation.ts'
import { headerOf, type NosqlRequest } from './request.ts'
import { header, type NosqlResponse } from './response.ts'

/** The page size that the client asks for, within our limit. -1 or no header means the default. */
export function pageSize(request: NosqlRequest): number {
  const header = headerOf(request, 'x-ms-max-item-count')
  if (header === undefined || header === '-1') return pageItemsDefault
  const count = Number(header)
  if (!Number.isInteger(count) || count < 1) {
    throw new RequestError(
      'malformed',
      `The value '${header.slice(0, 32)}' specified for the header 'x-ms-max-item-count' is invalid.`,
    )
  }
  return Math.min(count, pageItemsMax)
}

/** Resources are numbered in order of creation. A page continues after the last number before it. */
export function definitionFeed(
  request: NosqlRequest,
  name: string,
  ownerRid: string,
  resources: readonly { readonly number: number; readonly resource: object }[],
): NosqlResponse {
  const scope = `${name} ${ownerRid}`
  const token = headerOf(request, 'x-ms-continuation')
  const after = token === undefined ? -1 : (decodeContinuation(request.service.keys, scope, token) as number)
  const rest = resources.filter(({ number }) => number > after)
  const page = rest.slice(0, pageSize(request))
  let headers = header('x-ms-item-count', page.length)
  if (page.length < rest.length) {
    headers += header('x-ms-continuation', encodeContinuation(request.service.keys, scope, page.at(-1)!.number))
  }
  const body = { _rid: ownerRid, [name]: page.map(({ resource }) => resource), _count: page.length }
  return { status: 200, body: JSON.stringify(body), chargeRu: catalogReadRu, headers }
}
