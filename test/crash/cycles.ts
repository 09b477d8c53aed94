/**
 * Kills a real server under load, again and again, on one data directory. After every restart it checks that
 * no acknowledged write is lost, nothing dead is visible again, nothing living was removed, the clock did not
 * go back and no version was used twice.
 *
 * A seed determines what every actor does; when the kill hits them is real time. An operation whose answer
 * was cut off may or may not have happened, and either is right.
 */

import { existsSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkpointPages } from '../../src/adapters/sqlite/file/checkpoints.ts'
import { markMs } from '../../src/adapters/sqlite/file/end-mark.ts'
import { dataFile } from '../../src/adapters/sqlite/file/schema.ts'
import { pageBytes } from '../../src/adapters/sqlite/file/settings.ts'
import { machine } from '../../src/base/clock.ts'
import { Client } from './client.ts'
import { checkCopy, checkFile } from './file-check.ts'
import { govern, runLoad } from './load.ts'
import { Random } from './random.ts'
import { checkRecovered } from './recover.ts'
import { Running, serverArguments } from './server-process.ts'
import { check } from './violation.ts'
import { WireClient } from './wire-client.ts'
import { type Counts, furnish, newWorld, type World } from './world.ts'

export interface CycleOptions {
  readonly seed: number
  readonly cycles: number
  readonly onCycle?: (cycle: number, counts: Counts) => void
  /** The signal that ends the server; the checks afterwards are the same. */
  readonly signal?: 'SIGKILL' | 'SIGTERM'
}

/** When the purger looks for work for the first time: `purgeIntervalMs` after the process started. */
const firstPurgeMs = 1000

/** Keeps the directory for inspection if a check failed. */
export async function runCycles({
  seed,
  cycles,
  onCycle,
  signal = 'SIGKILL',
}: CycleOptions): Promise<Counts & { built: number }> {
  const directory = mkdtempSync(join(tmpdir(), 'mayfly-crash-'))
  const world = newWorld()
  let cycle = 0
  let server: Running | undefined
  try {
    server = await start(directory, world)
    await withClients(server, ([client], wire) => furnish(client!, wire, world))
    for (cycle = 1; cycle <= cycles; cycle++) {
      const random = new Random(seed, cycle)
      await endUnderLoad(server, world, { random, seed, cycle, signal })
      countFiles(directory, world)
      await betweenLives(directory, world, random)
      server = await start(directory, world)
      await withClients(server, (clients, wire) => checkRecovered(clients, wire, world, random))
      onCycle?.(cycle, world.counts)
    }
  } catch (cause) {
    const found = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
    throw new Error(`seed ${seed}, cycle ${cycle}, data in ${directory}: ${found}`, { cause })
  } finally {
    await server?.end('SIGKILL')
  }
  rmSync(directory, { recursive: true })
  return { ...world.counts, built: world.builder.builtCount }
}

async function start(directory: string, { counts }: World): Promise<Running> {
  const running = new Running(serverArguments(directory))
  await running.ready()
  counts.readyMsMax = Math.max(counts.readyMsMax, Math.round(machine.monotonicMs() - running.spawnedMs))
  return running
}

async function withClients(
  { endpoint, mongoUri }: Running,
  work: (clients: readonly Client[], wire: WireClient) => Promise<void>,
): Promise<void> {
  const clients = Array.from({ length: 8 }, () => new Client(endpoint))
  using wire = await WireClient.open(mongoUri)
  try {
    await work(clients, wire)
  } finally {
    for (const client of clients) client[Symbol.dispose]()
  }
}

async function endUnderLoad(
  running: Running,
  world: World,
  options: { random: Random; seed: number; cycle: number; signal: 'SIGKILL' | 'SIGTERM' },
): Promise<void> {
  const { random, seed, cycle, signal } = options
  const { endpoint, mongoUri } = running
  // One cycle in five lasts until the purger has started to work by itself.
  const untilPurgeMs = running.spawnedMs + firstPurgeMs - machine.monotonicMs() + random.between(0, 150)
  // One in ten lasts until marks are written beside the file (`end-mark.ts`), and the WAL gets long.
  const lifeMs = random.chance(0.1)
    ? 2 * markMs + random.between(0, markMs)
    : random.chance(0.2)
      ? Math.max(5, untilPurgeMs)
      : random.between(5, 400)
  // And one in five ends with a step of the clock that no write carries into the file.
  const endsQuietly = random.chance(0.2)
  let isEnding = false
  let isOver = false
  const load = runLoad(world, { endpoint, mongoUri, seed, cycle, isEnding: () => isEnding, isOver: () => isOver })
  await timeOrFailure(lifeMs, load, running)
  if (endsQuietly) {
    isOver = true
    await load
    using client = new Client(endpoint)
    using wire = await WireClient.open(mongoUri)
    await govern({ client, wire }, world, { kind: 'advance', seconds: random.between(1, 100) })
  }
  check(
    running.child.exitCode === null && running.child.signalCode === null,
    `the server ended by itself: ${running.stderr}`,
  )
  isEnding = true
  const exit = await running.end(signal)
  await load
  check(running.stderr === '', `the server complained: ${running.stderr}`)
  check(signal === 'SIGKILL' || exit.code === 0, `the server ended with ${exit.signal ?? exit.code}`)
}

/** What the next start finds. */
function countFiles(directory: string, { counts }: World): void {
  const file = join(directory, dataFile)
  if (existsSync(`${file}-mark`)) counts.marks++
  const walBytes = statSync(`${file}-wal`, { throwIfNoEntry: false })?.size ?? 0
  if (walBytes > checkpointPages * pageBytes) counts.longLogs++
}

/** A failed check ends the load early. */
async function timeOrFailure(lifeMs: number, load: Promise<void>, running: Running): Promise<void> {
  const over = Promise.withResolvers<void>()
  const timer = machine.setTimeout(over.resolve, lifeMs)
  load.then(over.resolve, over.resolve)
  await Promise.race([over.promise, running.exited])
  machine.clearTimeout(timer)
}

/** Sometimes somebody looks into the file, and sometimes the restart itself is killed. */
async function betweenLives(directory: string, world: World, random: Random): Promise<void> {
  const look = random.weighted({ none: 50, copy: 35, original: 15 })
  const startUpKills = random.chance(0.1) ? random.between(1, 2) : 0
  const delaysMs = [random.between(50, 300), random.between(50, 300)]
  if (look === 'copy') checkCopy(directory, world)
  if (look === 'original') checkFile(directory, world)
  if (look !== 'none') world.counts.fileChecks++
  for (let kill = 0; kill < startUpKills; kill++) {
    const running = new Running(serverArguments(directory))
    await new Promise<void>(resolve => machine.setTimeout(resolve, delaysMs[kill]!))
    await running.end('SIGKILL')
    world.counts.startUpKills++
  }
}
