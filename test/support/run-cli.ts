/** Runs the mayfly command as a process, with only the environment variables that the test sets. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from './start-server.ts'

export const command = fileURLToPath(new URL('../../bin/mayfly.js', import.meta.url))

/** More than most commands need, and short enough for a run that hangs. */
const usualMsMax = 20_000

/** Compiled sources, shared by all starts: a test file starts the command dozens of times. */
const compileCache = temporaryDirectory()

type Variables = Readonly<NodeJS.ProcessEnv>

export function environmentWith(variables: Variables): NodeJS.ProcessEnv {
  const { PATH, HOME, TMPDIR } = process.env
  return {
    PATH,
    HOME,
    NODE_COMPILE_CACHE: compileCache,
    // Test files run at the same time.
    MAYFLY_MONGO_PORT: '0',
    ...(TMPDIR === undefined ? {} : { TMPDIR }),
    ...variables,
  }
}

export interface Ended {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

export interface Running {
  readonly process: ChildProcess
  readonly ended: Promise<Ended>
  /** Waits until standard output matches; fails if the process ends before. */
  said(pattern: RegExp): Promise<RegExpExecArray>
}

interface Options {
  readonly env?: Variables
  readonly cwd?: string
  readonly node?: string
  /** Runs this file instead of Node with the command, in an environment that has nothing but `env`. */
  readonly executable?: string
  /** A process that runs longer is killed. */
  readonly msMax?: number
}

export function startCli(args: readonly string[], options: Options = {}): Running {
  const { env = {}, cwd, node = process.execPath, executable, msMax = usualMsMax } = options
  const child = spawn(executable ?? node, executable === undefined ? [command, ...args] : args, {
    env: executable === undefined ? environmentWith(env) : env,
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: msMax,
    killSignal: 'SIGKILL',
  })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', chunk => {
    stdout += chunk
  })
  child.stderr.on('data', chunk => {
    stderr += chunk
  })
  const closed = once(child, 'close')
  const said = async (pattern: RegExp) => {
    while (true) {
      const found = pattern.exec(stdout)
      if (found !== null) return found
      const more = await Promise.race([once(child.stdout, 'data'), closed.then(() => undefined)])
      if (more === undefined && !pattern.test(stdout)) throw new Error(`mayfly ended without saying so: ${stderr}`)
    }
  }
  return { process: child, ended: closed.then(([code]) => ({ code, stdout, stderr })), said }
}

export function runCli(args: readonly string[], options?: Options): Promise<Ended> {
  return startCli(args, options).ended
}

export interface Served extends AsyncDisposable {
  readonly pid: number
  readonly endpoint: string
  // biome-ignore lint/suspicious/noExplicitAny: the line is what the test looks at.
  readonly ready: any
  /** Sends a signal that does not stop it. */
  signal(signal: NodeJS.Signals): void
  stop(signal?: NodeJS.Signals): Promise<Ended>
}

/** A server as its own process, started with --json or the variable for it. */
export async function serveCli(args: readonly string[], options?: Options): Promise<Served> {
  const running = startCli(args, options)
  const stop = (signal: NodeJS.Signals = 'SIGTERM') => {
    running.process.kill(signal)
    return running.ended
  }
  try {
    const [, line] = await running.said(/^(.*)\n/)
    const ready = JSON.parse(line!)
    return {
      pid: running.process.pid!,
      endpoint: ready.endpoint,
      ready,
      signal: signal => void running.process.kill(signal),
      stop,
      async [Symbol.asyncDispose]() {
        if (running.process.exitCode === null) await stop()
      },
    }
  } catch (error) {
    await stop()
    throw error
  }
}
