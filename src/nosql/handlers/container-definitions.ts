/**
 * POST and PUT of /colls: creates and replaces containers, with their default time to live. Computed
 * properties are in the query language, so this file is loaded with the first definition.
 */

import { catalogWriteRu } from '../../units/cost.ts'
import { checkEncryptionKeys } from '../definitions/client-encryption-policy.ts'
import {
  type ContainerDefinition,
  logSeconds,
  parseContainerDefinition,
  replaceContainerDefinition,
} from '../definitions/container-definition.ts'
import { uniqueIndexes } from '../definitions/indexed-paths.ts'
import { toPartitionKeyDefinition } from '../definitions/partition-key-policy.ts'
import { definitionFeed } from '../http/feed.ts'
import { requireContainer, requireOwner } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { headerOf, isQuery, jsonBody, type NosqlRequest } from '../http/request.ts'
import { databaseRid } from '../http/resource-id.ts'
import type { NosqlResponse } from '../http/response.ts'
import { openEncryptionKeys } from '../scripts/encryption-key-store.ts'
import { answerContainer, checkIfMatch, containersOf } from './containers.ts'
import { requestedThroughput } from './databases.ts'
import { queryDefinitions } from './lazy-queries.ts'

export async function postContainer(request: NosqlRequest): Promise<NosqlResponse> {
  if (isQuery(request)) {
    const { database, resources } = await containersOf(request)
    return definitionFeed(
      request,
      'DocumentCollections',
      databaseRid(database),
      await queryDefinitions(request, resources),
    )
  }
  const { engine } = request.service
  const database = await requireOwner(request)
  const definition = parseContainerDefinition(jsonBody(request), definitionContext(request))
  if (definition.clientEncryptionPolicy !== undefined) {
    const keys = await openEncryptionKeys(engine, database)
    await checkEncryptionKeys(definition.clientEncryptionPolicy, async id => (await keys.find(id)) !== undefined)
  }
  const container = await engine.catalog.createContainer(database, {
    id: definition.id,
    definition,
    partitionKey: toPartitionKeyDefinition(definition.partitionKey),
    throughput: requestedThroughput(request) ?? null,
    defaultTtl: definition.defaultTtl ?? null,
    logSeconds: logSeconds(definition),
    declaredIndexes: uniqueIndexes(definition),
  })
  if (container === undefined) throw outcomeError('nameTaken')
  await engine.indexes.declare(container)
  return answerContainer(request, 201, container, catalogWriteRu)
}

export async function replaceContainer(request: NosqlRequest): Promise<NosqlResponse> {
  const input = jsonBody(request)
  const container = await requireContainer(request)
  const changed = await request.service.engine.catalog.changeContainer(container, current => {
    checkIfMatch(request, current)
    const definition = replaceContainerDefinition(
      current.definition as ContainerDefinition,
      input,
      definitionContext(request),
    )
    // A log that a reader began, without a policy, goes on.
    const hasPolicy = [current.definition as ContainerDefinition, definition].some(each => each.changeFeedPolicy)
    return {
      definition,
      defaultTtl: definition.defaultTtl ?? null,
      logSeconds: hasPolicy ? logSeconds(definition) : current.logSeconds,
    }
  })
  if (changed === undefined) throw outcomeError('missing')
  await request.service.engine.indexes.declare(changed)
  return answerContainer(request, 200, changed, catalogWriteRu)
}

function definitionContext(request: NosqlRequest): { apiVersion: string } {
  return { apiVersion: headerOf(request, 'x-ms-version') ?? '2018-12-31' }
}
