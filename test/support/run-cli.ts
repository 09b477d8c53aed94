/** Runs the mayfly command as a process, with only the environment variables that the test sets. */

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { temporaryDirectory } from './start-server.ts'

export const command = fileURLToPath(new URL('../../bin/mayfly.js', import.meta.url))

/** More than any command needs, and short enough for a run that hangs. */
const limitMs = 20_000

/** Compiled sources, shared by all starts: a test file starts the command dozens of times. */
const compileCache = temporaryDirectory()

type Variables = Readonly<Record<string, string>>

function environment(variables: Variables): NodeJS.ProcessEnv {
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
}

export function startCli(args: readonly string[], { env = {}, cwd, node = process.execPath }: Options = {}): Running {
  const child = spawn(node, [command, ...args], {
    env: environment(env),
    ...(cwd === undefined ? {} : { cwd }),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
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
