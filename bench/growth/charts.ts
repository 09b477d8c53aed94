/** The charts of the growth workload. */

import type { Chart } from '../chart.ts'
import type { Stop } from '../workloads/growth.ts'

const reads = /read|query|feed/
const writes = /^(create|replace|upsert|patch|delete)$/
const expiry = /TTL|histogram|purge/
const mongo = /^Mongo/

export function chartsOfGrowth(stops: readonly Stop[]): Readonly<Record<string, Chart>> {
  const chart = (title: string, names: RegExp): Chart => ({
    ...{ title, xLabel: 'items', yLabel: 'ms, median', isXLog: true, isYLog: true },
    series: stops[0]!.costs
      .filter(({ operation }) => names.test(operation) && (names === mongo || !mongo.test(operation)))
      .map(({ operation }) => ({
        name: operation,
        points: stops.map(({ items, costs }) => {
          return [items, costs.find(cost => cost.operation === operation)!.medianMs] as const
        }),
      })),
  })
  return {
    'growth-reads': chart('Reads and queries', reads),
    'growth-writes': chart('Writes', writes),
    'growth-expiry': chart('Expiry', expiry),
    'growth-mongo': chart('Mongo', mongo),
    'growth-start': {
      ...{ title: 'Start', xLabel: 'items', yLabel: 'ms', isXLog: true },
      series: [
        { name: 'start', points: stops.map(({ items, startMs }) => [items, startMs]) },
        { name: 'ready after kill -9', points: stops.map(({ items, readyAfterKillMs }) => [items, readyAfterKillMs]) },
      ],
    },
  }
}
