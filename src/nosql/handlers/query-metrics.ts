/** The headers for query metrics and index utilisation, in the service's syntax. */

import { type IndexPath, printIndexPath } from '../../document/index-definition.ts'
import type { PageStatistics } from '../../query/execute.ts'

/** Mayfly measures a page as a whole. The parts that the service times separately are 0 here. */
export function queryMetrics({ itemsRead, bytesRead, rowsOut, bytesOut, elapsedMs }: PageStatistics): string {
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

interface IndexUse {
  readonly used: readonly IndexPath[]
  readonly wished: readonly IndexPath[]
}

/** The indexes that the query used, and those that would have helped: URI-encoded JSON. */
export function indexUtilization({ used, wished }: IndexUse): string {
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
export function indexUtilizationV1({ used, wished }: IndexUse): string {
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
