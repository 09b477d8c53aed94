/** What a request does, as one of few names for metrics and logs: `read docs`, `query docs`. */

import { hasFlag, isQuery } from './http/request.ts'
import type { HttpHead } from './http/transport.ts'
import { resourceTypeOf, resourceTypes } from './routes.ts'

/** For requests that are refused before their operation is known. */
export const unknownOperation = 'other'

const verbs: Readonly<Record<string, string>> = {
  GET: 'read',
  HEAD: 'read',
  POST: 'create',
  PUT: 'replace',
  PATCH: 'patch',
  DELETE: 'delete',
}

/** Built once: a name is looked up with every request. */
const names = new Map<string, Map<string, string>>()
for (const verb of [...Object.values(verbs), 'list', 'query', 'batch', 'run']) {
  names.set(verb, new Map([...resourceTypes].map(type => [type, `${verb} ${type === '' ? 'account' : type}`])))
}

export function operationName(http: HttpHead, path: readonly string[]): string {
  const verb = verbOf(http, path)
  return (verb === undefined ? undefined : names.get(verb)?.get(resourceTypeOf(path))) ?? unknownOperation
}

function verbOf(http: HttpHead, path: readonly string[]): string | undefined {
  const isFeed = path.length % 2 === 1
  if (http.method === 'GET') return isFeed ? 'list' : 'read'
  if (http.method !== 'POST') return verbs[http.method]
  if (!isFeed) return 'run'
  if (isQuery(http)) return 'query'
  return hasFlag(http, 'x-ms-cosmos-is-batch-request') ? 'batch' : 'create'
}
