/** The long campaign: node test/crash/run.ts --cycles 2000 --seed 7 */

import { parseArgs } from 'node:util'
import { machine } from '../../src/base/clock.ts'
import { runCycles } from './cycles.ts'

const { values } = parseArgs({
  options: { cycles: { type: 'string', default: '500' }, seed: { type: 'string', default: '1' } },
})
const cycles = wholeNumber('--cycles', values.cycles)
const seed = wholeNumber('--seed', values.seed)
const startedMs = machine.monotonicMs()

try {
  const counts = await runCycles({ cycles, seed, onCycle: showProgress })
  process.stdout.write(`\n${cycles} cycles with seed ${seed}: every promise held.\n`)
  for (const [name, count] of Object.entries(counts)) process.stdout.write(`  ${name.padEnd(20)}${count}\n`)
} catch (error) {
  process.stdout.write(`\n${error instanceof Error ? error.message : error}\n`)
  process.exitCode = 1
}

function showProgress(cycle: number): void {
  const msPerCycle = (machine.monotonicMs() - startedMs) / cycle
  const leftMinutes = Math.ceil(((cycles - cycle) * msPerCycle) / 60_000)
  if (process.stdout.isTTY) process.stdout.write(`\r${cycle} of ${cycles} cycles, ${leftMinutes} min left   `)
  else if (cycle % 100 === 0) process.stdout.write(`${cycle} of ${cycles} cycles, ${Math.round(msPerCycle)} ms each\n`)
}

function wholeNumber(flag: string, text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`${flag} takes a whole number, not '${text}'.`)
  return Number(text)
}
