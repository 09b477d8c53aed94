/**
 * Installs the official clients, runs the same story with each of them, and writes results.json and
 * docs/compatibility.md. `npm run compat` runs all clients, `npm run compat -- python go` some.
 */

import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { mayfly } from '../src/index.ts'
import { compatibilityPage } from '../tools/compatibility-page.ts'
import { write } from '../tools/generated-page.ts'
import { type Client, clients, pinnedVersion } from './clients.ts'
import { type ClientResult, readResults, writeResults } from './results.ts'
import type { Outcome } from './steps.ts'
import { tellStory } from './tell.ts'

/** Rust's client takes half an hour to compile on one core. */
const installLimitMs = 60 * 60_000
const storyLimitMs = 5 * 60_000

const here = import.meta.dirname
const say = (line: string) => process.stdout.write(`${line}\n`)

function hasToolchain({ toolchain: [program, ...args] }: Client): boolean {
  return spawnSync(program, args, { stdio: 'ignore' }).status === 0
}

function install(client: Client): void {
  mkdirSync(join(here, '.clients'), { recursive: true })
  for (const [program, ...args] of client.install) {
    const { status, error } = spawnSync(program, args, { cwd: here, stdio: 'inherit', timeout: installLimitMs })
    if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed: ${error?.message ?? status}`)
  }
}

async function runClient(client: Client): Promise<ClientResult> {
  install(client)
  // In memory, on a free port, with a clock that the story moves.
  await using db = await mayfly({ clock: 'manual' })
  const steps = await tellStory(client, db, storyLimitMs)
  return { version: pinnedVersion(client), ran: new Date().toISOString().slice(0, 10), steps }
}

function summary(outcomes: readonly Outcome[]): string {
  const absent = outcomes.filter(outcome => 'absent' in outcome).length
  const works = outcomes.filter(outcome => 'ok' in outcome && outcome.ok).length
  return `${works} steps work, ${outcomes.length - works - absent} fail, ${absent} are not in the client`
}

const asked = process.argv.slice(2)
const unknown = asked.filter(language => !Object.hasOwn(clients, language))
if (unknown.length > 0) throw new Error(`no such client: ${unknown.join(', ')}; there are ${Object.keys(clients)}`)

for (const [language, client] of Object.entries(clients)) {
  if (asked.length > 0 && !asked.includes(language)) continue
  if (!hasToolchain(client)) {
    say(`${client.name}: no ${client.toolchain[0]} here; its results stay as they were`)
    continue
  }
  try {
    const result = await runClient(client)
    writeResults({ ...readResults(), [language]: result })
    say(`${client.name} ${result.version}: ${summary(Object.values(result.steps))}`)
  } catch (error) {
    say(`${client.name}: ${(error as Error).message}; its results stay as they were`)
    process.exitCode = 1
  }
}
write(compatibilityPage)
