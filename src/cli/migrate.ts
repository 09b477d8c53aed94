/** mayfly migrate: shows the progress of a migration, and what was copied. */

import { migrateData } from '../server/migrate.ts'
import { ProgressBar } from './progress.ts'

export async function migrate(places: { readonly from: string; readonly to: string }): Promise<void> {
  const bar = new ProgressBar()
  const containers = await migrateData(places, ({ phase, container, done, total }) =>
    bar.show({ phase, subject: container, done, unit: 'rows', share: done / Math.max(1, total) }),
  )
  bar.clear()
  const items = containers.reduce((sum, each) => sum + countOf(each.items), 0)
  const entries = containers.reduce((sum, each) => sum + countOf(each.log), 0)
  for (const { name, items: sum } of containers) process.stdout.write(`${name}: ${sum}\n`)
  process.stdout.write(
    `${containers.length} containers with ${items} items and ${entries} log entries were copied and compared.\n`,
  )
}

/** A checksum begins with the number of things that it covers. */
function countOf(checksum: string): number {
  return Number.parseInt(checksum, 10)
}
