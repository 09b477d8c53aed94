/**
 * Runs the blocks of a page in order, as a reader would: in one fresh folder that has `mayfly` and the
 * official clients, with the usual ports and addresses replaced by free ones.
 */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { wellKnownKey } from '../../src/base/account-keys.ts'
import { temporaryDirectory } from '../support/start-server.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const blockMsMax = 90_000

/** What a reader has at hand, and what the test has in its place. */
export interface Places {
  readonly folder: string
  /** The folder of the Node that runs everything. */
  readonly node: string
  /** The usual port of the pages, and the free one of the test. */
  readonly ports: Readonly<Record<number, number>>
  /** An empty database for pages about PostgreSQL. */
  readonly postgres: string | undefined
  /** The command is on the PATH, as the executable is. Otherwise readers type `npx mayfly`. */
  readonly isOnPath: boolean
}

const usualPorts = [8081, 8082, 10255, 10256]
export const usualPostgres = 'postgres://mayfly:secret@db:5432/mayfly'

/** A folder in which the checkout is installed. */
export async function newPlaces(surroundings: Surroundings = {}): Promise<Places> {
  const folder = temporaryDirectory()
  mkdirSync(join(folder, 'node_modules/.bin'), { recursive: true })
  for (const [name, target] of [
    ['@azure', 'node_modules/@azure'],
    ['mongodb', 'node_modules/mongodb'],
    ['mayfly', '.'],
    ['.bin/mayfly', 'bin/mayfly.js'],
  ] as const) {
    symlinkSync(join(checkout, target), join(folder, 'node_modules', name))
  }
  return placesIn(folder, surroundings)
}

interface Surroundings {
  readonly node?: string | undefined
  readonly postgres?: string | undefined
  readonly isOnPath?: boolean | undefined
}

export async function placesIn(
  folder: string,
  { node = dirname(process.execPath), postgres, isOnPath = false }: Surroundings = {},
): Promise<Places> {
  const free = await freePorts(usualPorts.length)
  const ports = Object.fromEntries(usualPorts.map((port, index) => [port, free[index]!]))
  return { folder, node, postgres, isOnPath, ports }
}

/** All at once, so that they differ. */
async function freePorts(count: number): Promise<number[]> {
  const servers = Array.from({ length: count }, () => createServer().listen(0, '127.0.0.1'))
  await Promise.all(servers.map(server => once(server, 'listening')))
  const ports = servers.map(server => (server.address() as { port: number }).port)
  await Promise.all(servers.map(server => once(server.close(), 'close')))
  return ports
}

/** The text of a block with free ports in the place of the usual ones: other tests run at the same time. */
export function replaced(code: string, { ports, postgres }: Places): string {
  const withPorts = code.replaceAll(
    new RegExp(`\\b(${usualPorts.join('|')})\\b`, 'g'),
    port => `${ports[Number(port)]}`,
  )
  return postgres === undefined ? withPorts : withPorts.replaceAll(usualPostgres, postgres)
}

/** Without the folders of commands that `npm run` puts there: `mayfly` would be among them. */
const outerPath = process.env
  .PATH!.split(delimiter)
  .filter(folder => !folder.endsWith(join('node_modules', '.bin')))
  .join(delimiter)

/** Servers without flags listen on the free ports too, and commands without flags find them there. */
function environment({ folder, node, ports, isOnPath }: Places): NodeJS.ProcessEnv {
  const { HOME, TMPDIR } = process.env
  const endpoint = `http://127.0.0.1:${ports[8081]}`
  const password = encodeURIComponent(wellKnownKey)
  return {
    PATH: [...(isOnPath ? [join(folder, 'node_modules/.bin')] : []), node, outerPath].join(delimiter),
    HOME,
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
    MAYFLY_PORT: `${ports[8081]}`,
    MAYFLY_MONGO_PORT: `${ports[10255]}`,
    COSMOS_ENDPOINT: endpoint,
    COSMOS_CONNECTION_STRING: `AccountEndpoint=${endpoint}/;AccountKey=${wellKnownKey};`,
    MONGODB_URI: `mongodb://localhost:${password}@127.0.0.1:${ports[10255]}/?directConnection=true`,
  }
}

export async function runScript(name: string, code: string, places: Places): Promise<void> {
  const file = join(places.folder, `${name}.mjs`)
  writeFileSync(file, replaced(code, places))
  await finished(join(places.node, 'node'), [file], code, places)
}

/** A whole test, as a reader saves and runs it. */
export async function runTest(file: string, code: string, places: Places): Promise<void> {
  writeFileSync(join(places.folder, file), code)
  const said = await finished(join(places.node, 'node'), ['--test'], code, places)
  // Where Node finds no test at all, it succeeds as well.
  if (!/\bpass 1$/m.test(said)) throw new Error(`Not one test has passed:\n${said}`)
}

/** `-e`: the block ends with the first command that fails. */
export async function runShell(code: string, places: Places): Promise<void> {
  await finished('sh', ['-e', '-c', replaced(code, places)], code, places)
}

/** Returns what the program said. */
async function finished(program: string, args: readonly string[], code: string, places: Places): Promise<string> {
  const child = start(program, args, places)
  const said = outputOf(child)
  const timer = setTimeout(() => endGroup(child), blockMsMax)
  const [exitCode] = await once(child, 'close')
  clearTimeout(timer)
  if (exitCode !== 0) throw new Error(`It ended with ${exitCode}:\n${replaced(code, places)}\n\n${said()}`)
  return said()
}

/** Starts a block that is a server, and waits until a port answers that was silent before. */
export async function startServers(code: string, places: Places): Promise<AsyncDisposable> {
  const before = await answering(places)
  const child = start('sh', ['-e', '-c', replaced(code, places)], places)
  const said = outputOf(child)
  const ended = once(child, 'close')
  for (let waitedMs = 0; (await answering(places)).length <= before.length; waitedMs += 100) {
    if (child.exitCode !== null || waitedMs > blockMsMax) throw new Error(`No server answers:\n${code}\n\n${said()}`)
    await delay(100)
  }
  return {
    async [Symbol.asyncDispose]() {
      endGroup(child)
      await ended
    },
  }
}

async function answering({ ports }: Places): Promise<readonly number[]> {
  const candidates = [ports[8081]!, ports[8082]!]
  const answers = await Promise.all(
    candidates.map(port =>
      fetch(`http://127.0.0.1:${port}/ready`).then(
        ({ ok }) => ok,
        () => false,
      ),
    ),
  )
  return candidates.filter((_, index) => answers[index])
}

/** In a group of its own, so that a server in the background of a shell ends with it. */
function start(program: string, args: readonly string[], places: Places): ChildProcess {
  const options = { cwd: places.folder, env: environment(places), detached: true }
  return spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
}

function outputOf(child: ChildProcess): () => string {
  const chunks: string[] = []
  child.stdout!.on('data', chunk => chunks.push(String(chunk)))
  child.stderr!.on('data', chunk => chunks.push(String(chunk)))
  return () => chunks.join('')
}

function endGroup({ pid, exitCode }: ChildProcess): void {
  if (exitCode === null) process.kill(-pid!, 'SIGTERM')
}
