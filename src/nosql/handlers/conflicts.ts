/** /conflicts: conflicts between write regions. There is one region here, so the feed is always empty. */

import { RequestError } from '../../base/error.ts'
import { viewOf } from '../http/container-view.ts'
import { definitionFeed } from '../http/feed.ts'
import type { NosqlRequest } from '../http/request.ts'
import type { NosqlResponse } from '../http/response.ts'
import { queryDefinitions } from './query.ts'

async function ownerRid({ service, path }: NosqlRequest): Promise<string> {
  return viewOf(await service.engine.requireContainer(path[1]!, path[3]!)).rid
}

export async function listConflicts(request: NosqlRequest): Promise<NosqlResponse> {
  return definitionFeed(request, 'Conflicts', await ownerRid(request), [])
}

export async function queryConflicts(request: NosqlRequest): Promise<NosqlResponse> {
  return definitionFeed(request, 'Conflicts', await ownerRid(request), await queryDefinitions(request, []))
}

export async function readConflict(request: NosqlRequest): Promise<NosqlResponse> {
  await ownerRid(request)
  throw new RequestError('not_found', 'Entity with the specified id does not exist in the system.')
}
