/** The long campaign: node test/fuzz/run.ts sql bson --inputs 2000000 --seed 1 */

import { parseArgs } from 'node:util'
import { machine } from '../../src/base/clock.ts'
import { fuzz } from './fuzz.ts'
import { targets } from './targets.ts'

/** No input may hold the event loop for longer. */
const msMax = 50

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    inputs: { type: 'string', default: '100000' },
    seed: { type: 'string', default: '1' },
    from: { type: 'string', default: '0' },
  },
})
const unknown = positionals.filter(name => !Object.hasOwn(targets, name))
if (unknown.length > 0) throw new Error(`There is no parser ${unknown}. There are ${Object.keys(targets).join(', ')}.`)

const [inputs, seed, from] = [Number(values.inputs), Number(values.seed), Number(values.from)]
for (const name of positionals.length > 0 ? positionals : Object.keys(targets)) {
  const startMs = machine.monotonicMs()
  try {
    const found = await fuzz(name, targets[name]!, { seed, from, inputs, msMax })
    const rate = Math.round(inputs / ((machine.monotonicMs() - startMs) / 1000))
    const { accepted, refused, cut, slowestMs } = found
    const megabytes = Math.round(process.memoryUsage().rss / 2 ** 20)
    process.stdout.write(
      `${name.padEnd(17)}${inputs} inputs, ${rate}/s: ${accepted} accepted, ${refused} refused, ${cut} cut; ` +
        `slowest ${slowestMs.toFixed(1)} ms, ${megabytes} MB\n`,
    )
  } catch (error) {
    process.exitCode = 1
    process.stdout.write(`${error instanceof Error ? error.message : error}\n`)
  }
}
