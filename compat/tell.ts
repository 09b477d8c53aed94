/** Runs the program of a client against a server and collects the outcomes that it prints. */

import { spawn } from 'node:child_process'
import { mkdtempDisposableSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { Client } from './clients.ts'
import { type Outcome, type ReportLine, stepsOf } from './steps.ts'

export interface Account {
  readonly endpoint: string
  readonly key: string
  /** Null if Mongo is not served. */
  readonly mongoUri: string | null
}

const longestReason = 250

/** One line, without what differs from run to run. */
function shortened(why: string): string {
  const line = why
    .replace(/\bActivityId:.*/s, '')
    .replaceAll(/https?:\/\/127\.0\.0\.1:\d+/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length <= longestReason ? line : `${line.slice(0, longestReason)}…`
}

function outcomeOf(line: ReportLine): Outcome {
  if ('absent' in line) return { absent: line.absent }
  return line.ok ? { ok: true } : { ok: false, why: shortened(line.why) }
}

/** The environment in which every program of the story runs. */
function environment({ endpoint, key, mongoUri }: Account, certificate: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    COSMOS_ENDPOINT: endpoint,
    COSMOS_KEY: key,
    COSMOS_CERTIFICATE: certificate,
    MONGODB_URI: mongoUri ?? '',
    MAYFLY_ENDPOINT: endpoint,
    MAYFLY_CERTIFICATE: certificate,
    // JavaScript, then Go and Rust: they trust what these files hold.
    NODE_EXTRA_CA_CERTS: certificate,
    SSL_CERT_FILE: certificate,
  }
}

/** A step that the program did not report has failed. */
export async function tellStory(
  { api, run: [program, ...args] }: Pick<Client, 'api' | 'run'>,
  account: Account,
  limitMs: number,
): Promise<Record<string, Outcome>> {
  const steps = stepsOf(api)
  using folder = mkdtempDisposableSync(join(tmpdir(), 'mayfly-'))
  const certificate = join(folder.path, 'mayfly.pem')
  writeFileSync(certificate, await (await fetch(`${account.endpoint}/_explorer/emulator.pem`)).text())
  const child = spawn(program, args, {
    cwd: import.meta.dirname,
    env: environment(account, certificate),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: limitMs,
    killSignal: 'SIGKILL',
  })
  const ended = new Promise((resolve, reject) => child.on('close', resolve).on('error', reject))
  const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), ended])
  const silence = { ok: false, why: shortened(`not reached: ${stderr.trim().split('\n').at(-1) || 'no report'}`) }
  const outcomes = Object.fromEntries(Object.keys(steps).map(step => [step, silence])) as Record<string, Outcome>
  for (const line of stdout.split('\n').filter(line => line.startsWith('{'))) {
    const report = JSON.parse(line) as ReportLine
    if (!Object.hasOwn(steps, report.step)) throw new Error(`${program} reports an unknown step: ${report.step}`)
    outcomes[report.step] = outcomeOf(report)
  }
  return outcomes
}
