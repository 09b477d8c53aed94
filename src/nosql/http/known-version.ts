/** Reads of resources other than items, with `If-None-Match`: 304 if the client has the version already. */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { headerOf, type NosqlRequest } from './request.ts'
import type { NosqlResponse } from './response.ts'

type Read = (request: NosqlRequest) => MaybePromise<NosqlResponse>

export function unlessKnown(read: Read): Read {
  return request => {
    const known = headerOf(request, 'if-none-match')
    if (known === undefined) return read(request)
    return andThen(read(request), answer => {
      const etag = /^etag: (.*)$/m.exec(answer.headers ?? '')?.[1]
      return known === '*' || known === etag ? { ...answer, status: 304, body: undefined } : answer
    })
  }
}
