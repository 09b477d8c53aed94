/** The real server as a separate process: started, waited for, killed. */

import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process'
import { join } from 'node:path'
import { machine } from '../../src/base/clock.ts'

export const command = join(import.meta.dirname, '../../bin/mayfly.js')

const readyMsMax = 30_000

export interface Exit {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

/** A process that may or may not become a server. */
export class Running {
  readonly child: ChildProcess
  readonly spawnedMs = machine.monotonicMs()
  readonly exited: Promise<Exit>
  stdout = ''
  stderr = ''

  constructor(args: readonly string[], options: SpawnOptions = {}) {
    this.child = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'pipe', 'pipe'], ...options })
    living.add(this.child)
    this.child.stdout?.on('data', chunk => {
      this.stdout += chunk
    })
    this.child.stderr?.on('data', chunk => {
      this.stderr += chunk
    })
    this.exited = new Promise((resolve, reject) => {
      this.child.once('error', reject)
      // `close` and not `exit`: only then all its output has been read.
      this.child.once('close', (code, signal) => {
        living.delete(this.child)
        resolve({ code, signal })
      })
    })
  }

  /** Known when it is ready. */
  endpoint = ''
  mongoUri = ''

  /** The endpoint from the ready line. */
  ready(): Promise<string> {
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const told = () => {
      const line = /^\{"ready":true.*\}$/m.exec(this.stdout)
      if (line === null) return
      const { endpoint, mongoUri } = JSON.parse(line[0])
      this.endpoint = endpoint
      this.mongoUri = mongoUri
      resolve(endpoint)
    }
    this.child.stdout?.on('data', told)
    this.exited.then(
      ({ code, signal }) =>
        reject(new Error(`The server ended with ${signal ?? code} before it was ready. ${this.stderr}`)),
      reject,
    )
    const limit = machine.setTimeout(
      () => reject(new Error(`The server was not ready in time. ${this.stderr}`)),
      readyMsMax,
    )
    const done = () => {
      machine.clearTimeout(limit)
      this.child.stdout?.removeListener('data', told)
    }
    promise.then(done, done)
    return promise
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<Exit> {
    this.child.kill(signal)
    return this.exited
  }
}

export function serverArguments(directory: string): string[] {
  const ports = ['--port', '0', '--mongo-port', '0']
  return [...ports, '--data', directory, '--json', '--log-level', 'error', '--clock', 'manual']
}

/** A test that ends early must not leave servers behind. */
const living = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of living) child.kill('SIGKILL')
})
