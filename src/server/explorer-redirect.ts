/**
 * Sends a browser that opens the address of the server to the explorer.
 *
 * SDKs send requests for the account to that address. They sign them, and accept JSON or any type. A browser
 * accepts text/html first, and signs nothing.
 */

import { ownText } from '../base/own-text.ts'
import { header } from '../nosql/http/response.ts'
import type { HttpAnswer, HttpHead } from '../nosql/http/transport.ts'
import type { NosqlServer } from '../nosql/server.ts'

const toExplorer: HttpAnswer = {
  status: 302,
  headers: ownText(header('location', '/_explorer/') + header('content-length', 0)),
  body: '',
  bodyBytes: 0,
}

export function withExplorerRedirect(nosql: NosqlServer): NosqlServer {
  return {
    ...nosql,
    handle: (request, reply) => {
      if (isBrowser(request)) reply(toExplorer)
      else nosql.handle(request, reply)
    },
  }
}

function isBrowser({ url, method, headers: { accept, authorization } }: HttpHead): boolean {
  return url === '/' && method === 'GET' && authorization === undefined && /^text\/html\b/i.test(accept ?? '')
}
