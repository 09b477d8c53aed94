/** Starts and stops the processes of a benchmark and reads their figures from the operating system. */

import { type ChildProcess, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { type AddressInfo, connect, createServer } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { machine } from '../src/base/clock.ts'
import type { FromLoad, LoadOrder, LoadResult, ToLoad } from './load.ts'

/** Linux counts CPU time in ticks of this length on every architecture Node runs on. */
const TICK_US = 10_000
const READY_LIMIT_MS = 30_000
const STOP_LIMIT_MS = 30_000

export interface ServerProcess extends AsyncDisposable {
  readonly pid: number
  readonly port: number
  readonly spawnedAtMs: number
}

/** Spawns a program, usually node, and waits for a line on stdout from which `portOf` can read a port. */
export async function startServer(
  args: readonly string[],
  portOf: (line: string) => number,
  program = process.execPath,
): Promise<ServerProcess> {
  const spawnedAtMs = machine.monotonicMs()
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] })
  let stderr = ''
  child.stderr.on('data', chunk => {
    stderr = (stderr + chunk).slice(-2000)
  })
  const { promise: ready, resolve, reject } = Promise.withResolvers<number>()
  const command = `node ${args.join(' ').slice(0, 120)}`
  child.once('error', reject)
  child.once('exit', code => reject(new Error(`${command} ended with ${code} before it was ready. ${stderr}`)))
  const limit = machine.setTimeout(() => reject(new Error(`${command} was not ready in time.`)), READY_LIMIT_MS)
  createInterface({ input: child.stdout }).on('line', line => {
    const port = portOf(line)
    if (port > 0) resolve(port)
  })
  try {
    const port = await ready
    return { pid: child.pid!, port, spawnedAtMs, [Symbol.asyncDispose]: () => stop(child) }
  } catch (error) {
    await stop(child)
    throw error
  } finally {
    machine.clearTimeout(limit)
  }
}

/** Starts a program that says nothing of use, and waits until it listens. */
export async function startProgram(program: string, args: readonly string[], port: number): Promise<ServerProcess> {
  const spawnedAtMs = machine.monotonicMs()
  const child = spawn(program, args, { stdio: 'ignore' })
  let failure: Error | undefined
  child.once('error', error => {
    failure = error
  })
  while (!(await listens(port))) {
    if (child.exitCode !== null) failure = new Error(`${program} ended with ${child.exitCode} before it was ready.`)
    if (machine.monotonicMs() - spawnedAtMs > READY_LIMIT_MS) failure = new Error(`${program} was not ready in time.`)
    if (failure !== undefined) {
      await stop(child)
      throw failure
    }
  }
  return { pid: child.pid!, port, spawnedAtMs, [Symbol.asyncDispose]: () => stop(child) }
}

async function listens(port: number): Promise<boolean> {
  const socket = connect({ port, host: '127.0.0.1' })
  try {
    await once(socket, 'connect')
    return true
  } catch {
    await new Promise(resolve => machine.setTimeout(() => resolve(undefined), 20))
    return false
  } finally {
    socket.destroy()
  }
}

/** A port that nobody uses now. */
export async function freePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return
  const exited = once(child, 'exit')
  child.kill('SIGTERM')
  const limit = machine.setTimeout(() => child.kill('SIGKILL'), STOP_LIMIT_MS)
  await exited
  machine.clearTimeout(limit)
}

/** The load generator as a child process; one order at a time. */
export class Load implements AsyncDisposable {
  readonly #child: ChildProcess

  constructor() {
    this.#child = fork(join(import.meta.dirname, 'load.ts'))
  }

  get pid(): number {
    return this.#child.pid!
  }

  async prepare(order: LoadOrder): Promise<void> {
    await this.#ask({ prepare: order })
  }

  async run(): Promise<LoadResult> {
    const reply = await this.#ask({ run: true })
    if (!('result' in reply)) throw new Error('The load generator answered out of turn.')
    return reply.result
  }

  async #ask(message: ToLoad): Promise<FromLoad> {
    const { promise, resolve, reject } = Promise.withResolvers<FromLoad>()
    const exited = () => reject(new Error('The load generator ended.'))
    this.#child.once('message', resolve)
    this.#child.once('exit', exited)
    this.#child.send(message)
    try {
      const reply = await promise
      if ('error' in reply) throw new Error(`The load failed: ${reply.error}`)
      return reply
    } finally {
      this.#child.removeListener('message', resolve)
      this.#child.removeListener('exit', exited)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await stop(this.#child)
  }
}

function readProc(pid: number, file: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'latin1')
  } catch {
    return undefined
  }
}

/** User and system time of all threads so far; undefined where there is no /proc. */
export function cpuUs(pid: number): number | undefined {
  const stat = readProc(pid, 'stat')
  if (stat === undefined) return undefined
  // The command name may contain spaces and brackets; count the fields from its end.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_US
}

export function residentBytes(pid: number): number | undefined {
  const match = /VmRSS:\s+(\d+) kB/.exec(readProc(pid, 'status') ?? '')
  return match === null ? undefined : Number(match[1]) * 1024
}

/** Bytes of a process: all that is resident, the part that is no file, and the most that ever was. */
export function memoryOf(pid: number): {
  readonly resident: number
  readonly anonymous: number
  readonly peak: number
} {
  const status = readProc(pid, 'status') ?? ''
  const bytes = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+) kB`).exec(status)?.[1] ?? 0) * 1024
  return { resident: bytes('VmRSS'), anonymous: bytes('RssAnon'), peak: bytes('VmHWM') }
}

/** Bytes passed to write calls so far, whether or not they have reached the disk. */
export function writtenBytes(pid: number): number | undefined {
  const match = /wchar: (\d+)/.exec(readProc(pid, 'io') ?? '')
  return match === null ? undefined : Number(match[1])
}
