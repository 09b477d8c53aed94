/** /conflicts: conflicts between write regions. There is one region here, so the feed is always empty. */

import { viewOf } from '../http/container-view.ts'
import { definitionFeed } from '../http/feed.ts'
import { requireContainer } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { headerOf, type NosqlRequest, partitionKeyHeader } from '../http/request.ts'
import type { NosqlResponse } from '../http/response.ts'
import { checkCrossPartition, queryDefinitions } from './query.ts'

async function ownerRid(request: NosqlRequest): Promise<string> {
  return viewOf(await requireContainer(request)).rid
}

export async function listConflicts(request: NosqlRequest): Promise<NosqlResponse> {
  return definitionFeed(request, 'Conflicts', await ownerRid(request), [])
}

export async function queryConflicts(request: NosqlRequest): Promise<NosqlResponse> {
  // INFERRED from a test of the Python SDK: conflicts are partitioned like items.
  if (headerOf(request, partitionKeyHeader) === undefined) checkCrossPartition(request)
  return definitionFeed(request, 'Conflicts', await ownerRid(request), await queryDefinitions(request, []))
}

export async function readConflict(request: NosqlRequest): Promise<NosqlResponse> {
  await ownerRid(request)
  throw outcomeError('missing')
}
