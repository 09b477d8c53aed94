/** The headers for query metrics and index utilisation, in the service's syntax. */

import { type IndexPath, printIndexPath } from '../../document/index-definition.ts'
import type { PageStatistics } from '../../query/execute.ts'
import type { ContainerView } from '../http/container-view.ts'
import { hasFlag, headerOf, type NosqlRequest, partitionKeyHeader } from '../http/request.ts'
import { header } from '../http/response.ts'

interface IndexUse {
  readonly used: readonly IndexPath[]
  readonly wished: readonly IndexPath[]
}

/** The headers that the request asks for. Clients rely on them whatever the query is. */
export function metricsHeaders(
  request: NosqlRequest,
  view: ContainerView,
  statistics: PageStatistics,
  indexUse: IndexUse,
): string {
  let headers = ''
  if (hasFlag(request, 'x-ms-documentdb-populatequerymetrics')) {
    headers += header('x-ms-documentdb-query-metrics', queryMetrics(statistics))
  }
  if (hasFlag(request, 'x-ms-cosmos-populateindexmetrics-v2')) {
    headers += header('x-ms-cosmos-index-utilization', indexUtilization(withKeys(request, view, indexUse)))
  } else if (hasFlag(request, 'x-ms-cosmos-populateindexmetrics')) {
    headers += header('x-ms-cosmos-index-utilization', indexUtilizationV1(withKeys(request, view, indexUse)))
  }
  return headers
}

/** A partition key in the request finds its items. The service counts that as a use of an index. */
function withKeys(request: NosqlRequest, { keyPaths }: ContainerView, { used, wished }: IndexUse): IndexUse {
  if (headerOf(request, partitionKeyHeader) === undefined) return { used, wished }
  const specs = new Set(used.map(printIndexPath))
  return { used: [...keyPaths.filter(path => !specs.has(printIndexPath(path))), ...used], wished }
}

/** Mayfly measures a page as a whole. The parts that the service times separately are 0 here. */
function queryMetrics({ itemsRead, bytesRead, rowsOut, bytesOut, elapsedMs }: PageStatistics): string {
  const time = elapsedMs.toFixed(2)
  const metrics = {
    totalExecutionTimeInMs: time,
    queryCompileTimeInMs: '0.00',
    queryLogicalPlanBuildTimeInMs: '0.00',
    queryPhysicalPlanBuildTimeInMs: '0.00',
    queryOptimizationTimeInMs: '0.00',
    VMExecutionTimeInMs: time,
    indexLookupTimeInMs: '0.00',
    documentLoadTimeInMs: '0.00',
    systemFunctionExecuteTimeInMs: '0.00',
    userFunctionExecuteTimeInMs: '0.00',
    retrievedDocumentCount: itemsRead,
    retrievedDocumentSize: bytesRead,
    outputDocumentCount: rowsOut,
    outputDocumentSize: bytesOut,
    writeOutputTimeInMs: '0.00',
    indexUtilizationRatio: (itemsRead === 0 ? 1 : Math.min(1, rowsOut / itemsRead)).toFixed(2),
  }
  return Object.entries(metrics)
    .map(([name, value]) => `${name}=${value}`)
    .join(';')
}

/** The indexes that the query used, and those that would have helped: URI-encoded JSON. */
function indexUtilization({ used, wished }: IndexUse): string {
  const list = (paths: readonly IndexPath[]) =>
    paths.map(path => ({ IndexSpec: printIndexPath(path), IndexImpactScore: 'High' }))
  return encodeURIComponent(
    JSON.stringify({
      UtilizedIndexes: { SingleIndexes: list(used), CompositeIndexes: [] },
      PotentialIndexes: { SingleIndexes: list(wished), CompositeIndexes: [] },
    }),
  )
}

/** The same in the first format, which the Python and Java SDKs ask for: JSON in base64. */
function indexUtilizationV1({ used, wished }: IndexUse): string {
  const list = (paths: readonly IndexPath[]) =>
    paths.map(path => ({
      FilterExpression: '',
      IndexSpec: printIndexPath(path),
      FilterPreciseSet: true,
      IndexPreciseSet: true,
      IndexImpactScore: 'High',
    }))
  const utilization = {
    UtilizedSingleIndexes: list(used),
    PotentialSingleIndexes: list(wished),
    UtilizedCompositeIndexes: [],
    PotentialCompositeIndexes: [],
  }
  return Buffer.from(JSON.stringify(utilization)).toString('base64')
}
