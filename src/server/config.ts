/**
 * The settings: one table of flags with their environment variables, and how texts become a checked
 * configuration.
 */

import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { RequestError } from '../base/error.ts'
import { partitionsMax } from '../base/limits.ts'

/**
 * Public, the same everywhere, known to every SDK's samples. It authenticates nobody; being unreachable does.
 */
export const wellKnownKey = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=='

export const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof logLevels)[number]

export interface Config {
  readonly host: string
  readonly port: number
  /** undefined: Mongo is not served. */
  readonly mongoPort: number | undefined
  /** Whether `ttl` in a Mongo document counts. */
  readonly mongoDocumentTtl: boolean
  /** undefined: in memory. */
  readonly directory: string | undefined
  /** `postgres://…`: the data is there; the directory then holds the certificate alone. */
  readonly storeUrl: string | undefined
  readonly key: string
  readonly clock: 'system' | 'manual'
  readonly rateLimit: boolean
  readonly strict: boolean
  /** When feeds of all versions and change streams tell of a death. */
  readonly feedDeaths: 'purge' | 'deadline'
  /** undefined: by throughput. */
  readonly partitions: number | undefined
  readonly logLevel: LogLevel
}

export interface Flag {
  /** As commander declares it. */
  readonly flags: string
  readonly help: string
  readonly default?: string
  /** The Microsoft emulator's variable, understood beside MAYFLY_<NAME>. */
  readonly emulatorVariable?: string
}

export const serverFlags = {
  host: { flags: '--host <address>', help: 'bind address', default: '127.0.0.1' },
  port: {
    flags: '--port <number>',
    help: 'NoSQL, explorer and admin, http and https; 0 for any free port',
    default: '8081',
    emulatorVariable: 'PORT',
  },
  mongoPort: {
    flags: '--mongo-port <number>',
    help: 'Mongo wire, plain and TLS; 0 for any free port',
    default: '10255',
  },
  noMongo: { flags: '--no-mongo', help: 'do not serve Mongo' },
  mongoDocumentTtl: {
    flags: '--mongo-document-ttl <on|off>',
    help: 'whether ttl in a Mongo document counts',
    default: 'on',
  },
  data: {
    flags: '--data <directory>',
    help: 'where data lives',
    default: './mayfly-data',
    emulatorVariable: 'DATA_PATH',
  },
  memory: { flags: '--memory', help: 'keep everything in memory' },
  store: { flags: '--store <url>', help: 'postgres://… instead of the embedded store; a Citus cluster is one, too' },
  key: { flags: '--key <base64>', help: 'account key (default: the emulator’s well-known key)' },
  keyFile: { flags: '--key-file <file>', help: 'read the account key from a file', emulatorVariable: 'KEY_FILE' },
  clock: { flags: '--clock <system|manual>', help: 'manual: time moves only when told', default: 'system' },
  rateLimit: { flags: '--rate-limit <on|off>', help: 'enforce provisioned throughput', default: 'off' },
  strict: { flags: '--strict', help: 'where the documents and today’s Azure differ, answer as Azure' },
  feedDeaths: {
    flags: '--feed-deaths <purge|deadline>',
    help: 'when a feed of all versions tells of a death: when it is removed, or at once',
    default: 'purge',
  },
  partitions: {
    flags: '--partitions <number>',
    help: 'physical partitions of new containers (default: by throughput)',
  },
  logLevel: {
    flags: '--log-level <level>',
    help: logLevels.join(', '),
    default: 'info',
    emulatorVariable: 'LOG_LEVEL',
  },
  json: { flags: '--json', help: 'one JSON line on stdout when ready' },
  insecureAllowWellKnownKey: {
    flags: '--insecure-allow-well-known-key',
    help: 'allow the well-known key on an address that others can reach',
  },
} as const satisfies Record<string, Flag>

export type FlagName = keyof typeof serverFlags
export type FlagValues = Readonly<Partial<Record<FlagName, string | boolean>>>

export function environmentVariable(name: FlagName): string {
  return `MAYFLY_${name.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase()}`
}

/** Flags first, then MAYFLY_*, then the emulator's variables, then defaults. */
export function settings(flags: FlagValues, environment: NodeJS.ProcessEnv): FlagValues {
  const found: Partial<Record<FlagName, string | boolean>> = {}
  for (const [key, flag] of Object.entries(serverFlags) as [FlagName, Flag][]) {
    const fromEnvironment =
      environment[environmentVariable(key)] ??
      (flag.emulatorVariable === undefined ? undefined : environment[flag.emulatorVariable])
    const value = flags[key] ?? (fromEnvironment === '' ? undefined : fromEnvironment) ?? flag.default
    if (value !== undefined) found[key] = value
  }
  return found
}

export function parseConfig(values: FlagValues): Config {
  const host = String(values.host)
  const storeUrl = values.store === undefined ? undefined : String(values.store)
  if (storeUrl !== undefined && !/^postgres(ql)?:\/\//.test(storeUrl)) {
    throw new RequestError('malformed', '--store takes a URL that begins with postgres://.')
  }
  const mongoPort = checkedPort(values.mongoPort, '--mongo-port')
  const key = readKey(values)
  if (key === wellKnownKey && !isLoopbackHost(host) && !isOn(values.insecureAllowWellKnownKey, 'this')) {
    throw new RequestError(
      'forbidden',
      `The well-known key protects nothing, and ${host} can be reached from other machines. Give a key of your ` +
        'own with --key or --key-file, or say --insecure-allow-well-known-key.',
    )
  }
  return {
    host,
    port: checkedPort(values.port, '--port'),
    mongoPort: isOn(values.noMongo, '--no-mongo') ? undefined : mongoPort,
    mongoDocumentTtl: oneOf(values.mongoDocumentTtl, ['on', 'off'], '--mongo-document-ttl') === 'on',
    directory: isOn(values.memory, '--memory') ? undefined : String(values.data),
    storeUrl,
    key,
    clock: oneOf(values.clock, ['system', 'manual'], '--clock'),
    rateLimit: oneOf(values.rateLimit, ['on', 'off'], '--rate-limit') === 'on',
    strict: isOn(values.strict, '--strict'),
    feedDeaths: oneOf(values.feedDeaths, ['purge', 'deadline'], '--feed-deaths'),
    partitions:
      values.partitions === undefined ? undefined : wholeNumber(values.partitions, '--partitions', 1, partitionsMax),
    logLevel: oneOf(values.logLevel === 'quiet' ? 'silent' : values.logLevel, logLevels, '--log-level'),
  }
}

function readKey({ key, keyFile }: FlagValues): string {
  if (key !== undefined && keyFile !== undefined) {
    throw new RequestError('malformed', 'Give the key with --key or with --key-file, not with both.')
  }
  let text = key === undefined ? wellKnownKey : String(key)
  if (keyFile !== undefined) {
    try {
      text = readFileSync(String(keyFile), 'utf8').trim()
    } catch (error) {
      throw new RequestError('malformed', `The key file ${keyFile} cannot be read.`, { cause: error })
    }
  }
  if (!/^[A-Za-z0-9+/]{22,}={0,2}$/.test(text)) {
    throw new RequestError('malformed', 'The account key must be base64 of at least 16 bytes.')
  }
  return text
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function checkedPort(value: unknown, flag: string): number {
  return wholeNumber(value, flag, 0, 65_535)
}

function wholeNumber(value: unknown, flag: string, min: number, max: number): number {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : Number.NaN
  if (!(number >= min && number <= max)) {
    throw new RequestError('malformed', `${flag} takes a whole number from ${min} to ${max}, not '${value}'.`)
  }
  return number
}

function oneOf<T extends string>(value: unknown, choices: readonly T[], flag: string): T {
  const found = choices.find(choice => choice === value)
  if (found === undefined) throw new RequestError('malformed', `${flag} takes ${choices.join(', ')}, not '${value}'.`)
  return found
}

/** A switch: given as a flag it is true, given by a variable it is a word. */
export function isOn(value: unknown, flag: string): boolean {
  if (value === undefined || value === false) return false
  if (value === true) return true
  return ['true', '1', 'on', 'yes'].includes(oneOf(value, ['true', '1', 'on', 'yes', 'false', '0', 'off', 'no'], flag))
}
