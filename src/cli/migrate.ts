/** mayfly migrate: shows the progress of a migration, and what was copied. */

import { machine } from '../base/clock.ts'
import { type MigrationProgress, migrateData } from '../server/migrate.ts'

const barChars = 24
const showEveryMs = 100

export async function migrate(places: { readonly from: string; readonly to: string }): Promise<void> {
  const bar = new ProgressBar()
  const containers = await migrateData(places, progress => bar.show(progress))
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

/** A line on the terminal that is updated in place. Prints nothing if stderr is not a terminal. */
class ProgressBar {
  #phase: string | undefined
  #startMs = 0
  #startDone = 0
  #shownMs = 0

  show({ phase, container, done, total }: MigrationProgress): void {
    const nowMs = machine.monotonicMs()
    if (phase !== this.#phase) {
      this.#phase = phase
      this.#startMs = nowMs
      this.#startDone = done
    }
    if (!process.stderr.isTTY || (nowMs - this.#shownMs < showEveryMs && done < total)) return
    this.#shownMs = nowMs
    const rate = (done - this.#startDone) / Math.max(0.001, (nowMs - this.#startMs) / 1000)
    const filled = Math.min(barChars, Math.round((barChars * done) / Math.max(1, total)))
    const bar = `${'#'.repeat(filled)}${'.'.repeat(barChars - filled)}`
    const left = rate > 0 ? `${Math.ceil(Math.max(0, total - done) / rate)} s left` : ''
    process.stderr.write(`\r${phase} [${bar}] ${done} of ${total}, ${Math.round(rate)}/s, ${left}  ${container}\x1b[K`)
  }

  clear(): void {
    if (process.stderr.isTTY) process.stderr.write('\r\x1b[K')
  }
}
