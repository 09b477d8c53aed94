/** The query metrics header, in the service's grammar. */

import type { PageStatistics } from '../query/execute.ts'

/** We measure a page as a whole; the parts that the service times apart are 0 here. */
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
