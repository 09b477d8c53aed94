/** mayfly migrate: shows the progress of a migration, and what was copied. */

import { migrateData } from '../server/migrate.ts'
import { counted } from './counted.ts'
import { ProgressBar } from './progress.ts'

export async function migrate(places: { readonly from: string; readonly to: string }): Promise<void> {
  const bar = new ProgressBar()
  const compared = await migrateData(places, ({ phase, container, done, total }) =>
    bar.show({ phase, subject: container, done, unit: 'rows', share: done / Math.max(1, total) }),
  )
  bar.clear()
  // Mayfly's own containers are not listed: users do not know them.
  const containers = compared.filter(({ isOwn }) => !isOwn)
  for (const { name, items } of containers) process.stdout.write(`${name}: ${counted(items, 'item', 'items')}\n`)
  const items = containers.reduce((sum, each) => sum + each.items, 0)
  const entries = containers.reduce((sum, each) => sum + each.logEntries, 0)
  const counts = [counted(items, 'item', 'items'), counted(entries, 'log entry', 'log entries')].join(' and ')
  process.stdout.write(`Copied and compared ${counted(containers.length, 'container', 'containers')} with ${counts}.\n`)
}
