/** mayfly serve: starts a server, prints where it listens, and stops it cleanly. */

import { resolve } from 'node:path'
import { styleText } from 'node:util'
import { wellKnownKey } from '../base/account-keys.ts'
import type { Logger } from '../base/log.ts'
import { type Config, type FlagValues, isOn, parseConfig } from '../server/config.ts'
import { createLog } from '../server/log.ts'
import { type RunningServer, startServer } from '../server/start.ts'
import { telemetrySettings } from '../server/telemetry/settings.ts'
import { version } from '../server/version.ts'

export async function serve(values: FlagValues): Promise<void> {
  const config = parseConfig(values)
  const log = createLog(config.logLevel)
  const telemetry = telemetrySettings(process.env, sentence => log.warn({}, sentence))
  const server = await startServer(config, log, { holdsProcess: true, telemetry })
  const { endpoint } = server

  // If stdout is closed, the server must go on.
  process.stdout.on('error', () => {})
  let isStopping = false
  const stop = async (signal: string) => {
    if (isStopping) process.exit(130)
    isStopping = true
    log.info({ signal }, 'stopping after the requests that are being served')
    await server[Symbol.asyncDispose]()
    process.exit(0)
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  // Without files there is nothing to read again, and the signal means that the terminal is gone.
  const hasFiles = [config.keyFile, config.tls, config.entraFile].some(file => file !== undefined)
  process.on('SIGHUP', hasFiles ? () => reloadFiles(server, log) : stop)
  if (isOn(values.json, '--json')) {
    const ready = { ready: true, endpoint, mongoUri: shownMongoUri(server, '@'), explorer: explorerOf(server) }
    process.stdout.write(`${JSON.stringify(ready)}\n`)
  } else {
    process.stdout.write(banner(server, placeOf(config)))
  }
  await stopOnFailure(server)
}

async function reloadFiles(server: RunningServer, log: Logger): Promise<void> {
  try {
    await server.reloadFiles()
  } catch (error) {
    log.error({ error }, 'a file with keys, a certificate or settings cannot be used; what it held stays as it is')
  }
}

function explorerOf({ endpoint }: RunningServer): string {
  return `${endpoint}/_explorer/`
}

/** Output ends up in logs, so a key of the user's own is replaced. */
function shownMongoUri({ mongoUri, key }: RunningServer, inPlace: string): string | null {
  if (mongoUri === null || key === wellKnownKey) return mongoUri
  return mongoUri.replace(`:${encodeURIComponent(key)}@`, inPlace)
}

/**
 * A store that cannot be trusted must not answer. A supervisor restarts the process, and recovery brings the
 * store back to what is durable.
 */
async function stopOnFailure(server: RunningServer): Promise<never> {
  await server.failed
  process.exit(1)
}

/** Where the data is, without the password of the URL. */
export function placeOf({ directory, storeUrl }: Pick<Config, 'directory' | 'storeUrl'>): string {
  if (storeUrl === undefined) return directory === undefined ? 'in memory' : resolve(directory)
  const { hostname, port, pathname } = URL.parse(storeUrl) ?? {}
  return `PostgreSQL, ${hostname || 'localhost'}:${port || 5432}${pathname ?? ''}`
}

function banner(server: RunningServer, place: string): string {
  const { endpoint, mongoUri, key } = server
  const name = (text: string) => styleText('gray', text.padEnd(10))
  const shownKey = key === wellKnownKey ? key : '(your own)'
  return [
    '',
    `  ${styleText('bold', 'mayfly')} ${version}  ${styleText('green', 'ready')}`,
    '',
    `  ${name('Cosmos')}${endpoint}   (http and https)`,
    `  ${name('Mongo')}${mongoUri === null ? 'not served' : `${new URL(mongoUri).host}   (plain and TLS)`}`,
    `  ${name('Explorer')}${explorerOf(server)}`,
    `  ${name('Key')}${shownKey}`,
    `  ${name('Data')}${place}`,
    '',
    // In quotes, so that a shell takes them as they are.
    `  ${styleText('gray', 'COSMOS_CONNECTION_STRING=')}'AccountEndpoint=${endpoint}/;AccountKey=${shownKey};'`,
    ...(mongoUri === null
      ? []
      : [`  ${styleText('gray', 'MONGODB_URI=')}'${shownMongoUri(server, ':<your key, percent-encoded>@')}'`]),
    '',
    '',
  ].join('\n')
}
