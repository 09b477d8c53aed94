/**
 * Sends a browser that opens the address of the server to the explorer.
 *
 * At that address SDKs ask for the account. They sign the request, and accept JSON or anything. A browser
 * names text/html before all others, and signs nothing.
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
