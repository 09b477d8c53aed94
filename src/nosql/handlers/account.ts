/** GET /: the account. Its locations lead back to the address that the client used. */

import type { NosqlRequest } from '../http/request.ts'
import type { NosqlResponse } from '../http/response.ts'

/**
 * Not `localhost`: the JavaScript SDK ignores the locations of an account of that name and reads it before
 * every request.
 */
const accountId = 'mayfly'

/** Clients look regions up by the service's names. This is the one that the emulator has. */
const region = 'South Central US'

export function readAccount({ origin }: NosqlRequest): NosqlResponse {
  const locations = [{ name: region, databaseAccountEndpoint: `${origin}/` }]
  const body = JSON.stringify({
    _self: '',
    id: accountId,
    _rid: 'mayfly.local',
    media: '//media/',
    addresses: '//addresses/',
    _dbs: '//dbs/',
    writableLocations: locations,
    readableLocations: locations,
    enableMultipleWriteLocations: false,
    enablePerPartitionFailoverBehavior: false,
    continuousBackupEnabled: false,
    userReplicationPolicy: { asyncReplication: false, minReplicaSetSize: 1, maxReplicasetSize: 1 },
    userConsistencyPolicy: { defaultConsistencyLevel: 'Session' },
    systemReplicationPolicy: { minReplicaSetSize: 1, maxReplicasetSize: 1 },
    readPolicy: { primaryReadCoefficient: 1, secondaryReadCoefficient: 1 },
    queryEngineConfiguration,
  })
  return { status: 200, body, chargeRu: 0 }
}

/** JSON text inside the JSON. The .NET and Java SDKs parse it before their first query. */
const queryEngineConfiguration = JSON.stringify({
  maxSqlQueryInputLength: 262144,
  maxJoinsPerSqlQuery: 10,
  maxLogicalAndPerSqlQuery: 2000,
  maxLogicalOrPerSqlQuery: 2000,
  maxUdfRefPerSqlQuery: 10,
  maxInExpressionItemsCount: 16000,
  queryMaxInMemorySortDocumentCount: 500,
  maxQueryRequestTimeoutFraction: 0.9,
  sqlAllowNonFiniteNumbers: false,
  sqlAllowAggregateFunctions: true,
  sqlAllowSubQuery: true,
  sqlAllowScalarSubQuery: true,
  allowNewKeywords: true,
  sqlAllowLike: true,
  sqlAllowGroupByClause: true,
  maxSpatialQueryCells: 12,
  spatialMaxGeometryPointCount: 256,
  sqlDisableOptimizationFlags: 0,
  sqlAllowTop: true,
  enableSpatialIndexing: true,
})
