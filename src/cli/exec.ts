/** mayfly exec: runs a server while a command runs. The command finds it in environment variables. */

import { spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { constants } from 'node:os'
import { RequestError } from '../base/error.ts'
import { type FlagValues, parseConfig } from '../server/config.ts'
import { createLog } from '../server/log.ts'
import { startServer } from '../server/start.ts'
import { startOf } from './command-start.ts'

/** Without a directory nothing is written to the disk. */
export async function exec(
  command: readonly string[],
  values: FlagValues,
  { directory }: { readonly directory: string | undefined },
): Promise<void> {
  const config = { ...parseConfig(values), directory }
  const { file, args, isVerbatim } = startOf(command, {
    platform: process.platform,
    environment: process.env,
    exists: existsSync,
  })
  await using server = await startServer(config, createLog(config.logLevel), { holdsProcess: true })
  const { endpoint, mongoUri, key } = server
  const child = spawn(file, args, {
    stdio: 'inherit',
    windowsVerbatimArguments: isVerbatim,
    env: {
      ...process.env,
      COSMOS_ENDPOINT: endpoint,
      COSMOS_KEY: key,
      COSMOS_CONNECTION_STRING: `AccountEndpoint=${endpoint}/;AccountKey=${key};`,
      // Without Mongo, an inherited variable is removed, because it would lead to another server.
      MONGODB_URI: mongoUri ?? undefined,
    },
  })
  // The command gets the interrupt too and decides what to do. We stop when it stops.
  process.on('SIGINT', () => {})
  process.on('SIGTERM', () => child.kill('SIGTERM'))
  process.exitCode = await new Promise<number>((resolve, reject) => {
    child.once('error', error =>
      reject(new RequestError('not_found', `The command ${command[0]} cannot be started: ${error.message}`)),
    )
    // The exit code that a shell would report.
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal!]))
  })
}
