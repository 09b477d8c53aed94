/**
 * The settings of the server: one table of flags and environment variables, and the checks that turn them
 * into a configuration.
 */

import { readFileSync } from 'node:fs'
import { isIP } from 'node:net'
import { type AccountKey, wellKnownKey } from '../base/account-keys.ts'
import { parseDuration } from '../base/duration.ts'
import { RequestError } from '../base/error.ts'
import { MiB, partitionsMax } from '../base/limits.ts'
import type { CertificateFiles } from './tls/certificate.ts'

export const logLevels = ['silent', 'fatal', 'error', 'warn', 'info', 'debug', 'trace'] as const
export type LogLevel = (typeof logLevels)[number]

export interface Config {
  /** The name of a setting in errors. */
  readonly nameOf: SettingNames
  readonly host: string
  readonly port: number
  /** Undefined if Mongo is not served. */
  readonly mongoPort: number | undefined
  /** Whether the field `ttl` of a Mongo document sets its lifespan. */
  readonly mongoDocumentTtl: boolean
  /** Whether Mongo commands can be made to fail, for the test suites of drivers. */
  readonly areTestCommandsOn: boolean
  /** Undefined if data is kept in memory. */
  readonly directory: string | undefined
  readonly acceptLostWrites: boolean
  /** Loaded into an empty store before the server is ready. */
  readonly seed: string | undefined
  /** `postgres://…` if data is kept in PostgreSQL. The directory then holds only the certificate. */
  readonly storeUrl: string | undefined
  readonly keys: readonly AccountKey[]
  /** Whether others may reach a server that has the well-known key. */
  readonly allowsWellKnownKey: boolean
  /** Undefined if the key was not given in a file. */
  readonly keyFile: string | undefined
  /** Undefined if the certificate is Mayfly's own. */
  readonly tls: CertificateFiles | undefined
  /** The file that says which Entra ID tokens are accepted. */
  readonly entraFile: string | undefined
  /** Names by which clients may call the server, besides the local ones. */
  readonly allowedHosts: readonly string[]
  readonly clock: 'system' | 'manual'
  /** The largest forward step of the machine's clock that is believed at once. */
  readonly clockStepSecondsMax: number
  readonly rateLimit: boolean
  readonly strict: boolean
  /** When feeds of all versions and change streams report the death of an item. */
  readonly feedDeaths: 'purge' | 'deadline'
  /** Undefined if the throughput of a container decides. */
  readonly partitions: number | undefined
  /** Bytes that may be held for requests, besides what an idle server takes. */
  readonly memoryBudgetBytes: number
  /** Most connections of each port. */
  readonly connectionsMax: number
  readonly logLevel: LogLevel
  /** Pages of queries that take longer are logged. */
  readonly slowQueryMs: number
}

export interface Flag {
  /** In the syntax of commander. */
  readonly flags: string
  readonly help: string
  readonly default?: string
  /** The variable of Microsoft's emulator. It works like MAYFLY_<NAME>. */
  readonly emulatorVariable?: string
}

export const serverFlags = {
  host: { flags: '--host <address>', help: 'address to listen on', default: '127.0.0.1' },
  port: {
    flags: '--port <number>',
    help: 'port for NoSQL, the explorer and the admin API, http and https; 0 takes any free port',
    default: '8081',
    emulatorVariable: 'PORT',
  },
  mongoPort: {
    flags: '--mongo-port <number>',
    help: 'port for MongoDB clients, plain and TLS; 0 takes any free port',
    default: '10255',
  },
  noMongo: { flags: '--no-mongo', help: 'do not serve MongoDB clients' },
  mongoDocumentTtl: {
    flags: '--mongo-document-ttl <on|off>',
    help: 'whether the field ttl of a MongoDB document sets its lifespan',
    default: 'on',
  },
  enableTestCommands: {
    flags: '--enable-test-commands',
    help: 'let MongoDB clients make commands fail (configureFailPoint); for the test suites of drivers',
  },
  data: {
    flags: '--data <directory>',
    help: 'directory for the data',
    default: './mayfly-data',
    emulatorVariable: 'DATA_PATH',
  },
  acceptLostWrites: {
    flags: '--accept-lost-writes',
    help: 'start although the write-ahead log is damaged and acknowledged writes are lost',
  },
  seed: { flags: '--seed <file>', help: 'load these databases, containers and items if there are none yet' },
  memory: { flags: '--memory', help: 'keep everything in memory' },
  store: { flags: '--store <url>', help: 'keep the data in PostgreSQL or Citus: postgres://…' },
  key: { flags: '--key <base64>', help: 'account key (default: the emulator’s well-known key)' },
  keyFile: {
    flags: '--key-file <file>',
    help: 'read the account keys from a file, one in a line',
    emulatorVariable: 'KEY_FILE',
  },
  tlsCert: {
    flags: '--tls-cert <file>',
    help: 'certificate for TLS, in PEM form, with those between it and its authority',
  },
  tlsKey: { flags: '--tls-key <file>', help: 'private key of the certificate, in PEM form' },
  entra: {
    flags: '--entra <file>',
    help: 'accept Entra ID tokens; the JSON file names issuers, audiences, keys and who may do what',
  },
  allowedHosts: {
    flags: '--allowed-hosts <names>',
    help: 'names by which clients may call the server, with commas between them; * allows every name',
  },
  clock: { flags: '--clock <system|manual>', help: 'manual: time moves only when you move it', default: 'system' },
  maxClockStep: {
    flags: '--max-clock-step <duration>',
    help: 'after a larger jump of the machine’s clock nothing is removed until you confirm it: 5m, 1h',
    default: '5m',
  },
  rateLimit: { flags: '--rate-limit <on|off>', help: 'enforce provisioned throughput', default: 'off' },
  strict: { flags: '--strict', help: 'where Azure differs from its documentation, answer as Azure does' },
  feedDeaths: {
    flags: '--feed-deaths <purge|deadline>',
    help: 'when feeds of all versions report a death: when the item is removed, or at its deadline',
    default: 'purge',
  },
  partitions: {
    flags: '--partitions <number>',
    help: 'physical partitions of new containers (default: by throughput)',
  },
  memoryBudget: {
    flags: '--memory-budget <MB>',
    help: 'memory that requests may take beyond the idle size; beyond it work is refused',
    default: '512',
  },
  maxConnections: {
    flags: '--max-connections <number>',
    help: 'connections that each port accepts',
    default: '10000',
  },
  logLevel: {
    flags: '--log-level <level>',
    help: `what to log: ${logLevels.join(', ')}`,
    default: 'info',
    emulatorVariable: 'LOG_LEVEL',
  },
  slowQueryMs: {
    flags: '--slow-query-ms <number>',
    help: 'log pages of queries that take longer, with their plan and cost; 0 logs none',
    default: '1000',
  },
  json: { flags: '--json', help: 'print one line of JSON when ready' },
  insecureAllowWellKnownKey: {
    flags: '--insecure-allow-well-known-key',
    help: 'allow the well-known key on an address that others can reach',
  },
} as const satisfies Record<string, Flag>

export type FlagName = keyof typeof serverFlags
export type FlagValues = Readonly<Partial<Record<FlagName, string | boolean>>>

/** The name of a setting in errors. The library has options instead of flags. */
export type SettingNames = (name: FlagName) => string

const flagOf: SettingNames = name => serverFlags[name].flags.split(' ', 1)[0]!

export function environmentVariable(name: FlagName): string {
  return `MAYFLY_${name.replace(/[A-Z]/g, letter => `_${letter}`).toUpperCase()}`
}

/** The settings that say where the data is. */
export const places = ['data', 'memory', 'store'] as const satisfies readonly FlagName[]

interface SettingsSources {
  readonly defaults?: FlagValues
  /** Settings whose environment variables are ignored. */
  readonly ignored?: readonly FlagName[]
}

/** Flags first, then MAYFLY_*, then the emulator's variables, then defaults. */
export function settings(
  flags: FlagValues,
  environment: NodeJS.ProcessEnv,
  { defaults = {}, ignored = [] }: SettingsSources = {},
): FlagValues {
  const unheard = [...ignored, ...overruled(flags)]
  const found: Partial<Record<FlagName, string | boolean>> = {}
  for (const [key, flag] of Object.entries(serverFlags) as [FlagName, Flag][]) {
    const value = flags[key] ?? (unheard.includes(key) ? undefined : fromVariable(key, flag, environment))
    const known = value ?? defaults[key] ?? flag.default
    if (known !== undefined) found[key] = known
  }
  if (flags.memory === true && flags.data !== undefined) {
    const reason = 'data in memory is lost when the server stops.'
    throw new RequestError('malformed', `Give --memory or --data, not both: ${reason}`)
  }
  if (flags.data !== undefined && flags.store === undefined && found.store !== undefined) {
    throw new RequestError(
      'malformed',
      'With --data and MAYFLY_STORE it is not clear where the data is. Give --store as a flag, too (the directory ' +
        'then holds only the certificate), or unset the variable.',
    )
  }
  return found
}

/** An empty variable counts as unset. */
function fromVariable(name: FlagName, { emulatorVariable }: Flag, environment: NodeJS.ProcessEnv): string | undefined {
  const own = environment[environmentVariable(name)]
  return own || (emulatorVariable && environment[emulatorVariable]) || undefined
}

/** The variables that a flag for the place of the data overrules. */
function overruled({ data, memory, store }: FlagValues): readonly FlagName[] {
  if (memory === true && store === undefined) return ['store']
  return data === undefined && store === undefined ? [] : ['memory']
}

export function parseConfig(values: FlagValues, nameOf: SettingNames = flagOf): Config {
  const host = String(values.host)
  const storeUrl = values.store === undefined ? undefined : String(values.store)
  if (storeUrl !== undefined && !/^postgres(ql)?:\/\//.test(storeUrl)) {
    throw new RequestError('malformed', `${nameOf('store')} takes a URL that begins with postgres://.`)
  }
  const isInMemory = isOn(values.memory, nameOf('memory'))
  const mongoPort = checkedPort(values.mongoPort, nameOf('mongoPort'))
  const keys = readKeys(values)
  const allowsWellKnownKey = isOn(values.insecureAllowWellKnownKey, nameOf('insecureAllowWellKnownKey'))
  checkExposure({ host, allowsWellKnownKey }, keys)
  return {
    nameOf,
    host,
    port: checkedPort(values.port, nameOf('port')),
    mongoPort: isOn(values.noMongo, nameOf('noMongo')) ? undefined : mongoPort,
    mongoDocumentTtl: oneOf(values.mongoDocumentTtl, ['on', 'off'], nameOf('mongoDocumentTtl')) === 'on',
    areTestCommandsOn: isOn(values.enableTestCommands, nameOf('enableTestCommands')),
    directory: isInMemory ? undefined : String(values.data),
    acceptLostWrites: isOn(values.acceptLostWrites, nameOf('acceptLostWrites')),
    seed: values.seed === undefined ? undefined : String(values.seed),
    storeUrl,
    keys,
    allowsWellKnownKey,
    keyFile: values.keyFile === undefined ? undefined : String(values.keyFile),
    tls: certificateFiles(values),
    entraFile: values.entra === undefined ? undefined : String(values.entra),
    allowedHosts: readHostNames(values.allowedHosts),
    clock: oneOf(values.clock, ['system', 'manual'], nameOf('clock')),
    clockStepSecondsMax: clockStep(values.maxClockStep, nameOf('maxClockStep')),
    rateLimit: oneOf(values.rateLimit, ['on', 'off'], nameOf('rateLimit')) === 'on',
    strict: isOn(values.strict, nameOf('strict')),
    feedDeaths: oneOf(values.feedDeaths, ['purge', 'deadline'], nameOf('feedDeaths')),
    partitions:
      values.partitions === undefined
        ? undefined
        : wholeNumber(values.partitions, nameOf('partitions'), 1, partitionsMax),
    memoryBudgetBytes: wholeNumber(values.memoryBudget, nameOf('memoryBudget'), 16, 1_000_000) * MiB,
    connectionsMax: wholeNumber(values.maxConnections, nameOf('maxConnections'), 1, 1_000_000),
    slowQueryMs: wholeNumber(values.slowQueryMs, nameOf('slowQueryMs'), 0, 86_400_000) || Number.POSITIVE_INFINITY,
    logLevel: oneOf(values.logLevel === 'quiet' ? 'silent' : values.logLevel, logLevels, nameOf('logLevel')),
  }
}

/** Throws if other machines can reach a server that has the well-known key. */
export function checkExposure(
  { host, allowsWellKnownKey }: Pick<Config, 'host' | 'allowsWellKnownKey'>,
  keys: readonly AccountKey[],
): void {
  if (allowsWellKnownKey || isLoopbackHost(host) || keys.every(({ text }) => text !== wellKnownKey)) return
  throw new RequestError(
    'forbidden',
    `The well-known key protects nothing, and ${host} can be reached from other machines. Give a key of your ` +
      'own with --key or --key-file, or allow it with --insecure-allow-well-known-key.',
  )
}

function readKeys({ key, keyFile }: FlagValues): readonly AccountKey[] {
  if (key !== undefined && keyFile !== undefined) {
    throw new RequestError('malformed', 'Give the key with --key or with --key-file, not with both.')
  }
  if (keyFile !== undefined) return readKeyFile(String(keyFile))
  const text = key === undefined ? wellKnownKey : String(key)
  if (!isKey(text)) throw new RequestError('malformed', 'The account key must be base64 of at least 16 bytes.')
  return [{ text, isReadOnly: false }]
}

/**
 * A line has one key. `read-only` behind a key means that it may only read. The first key must be able to
 * write. Empty lines and lines that begin with # are ignored. Errors never show the text of a line.
 */
export function readKeyFile(file: string): readonly AccountKey[] {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    throw new RequestError('malformed', `The key file ${file} cannot be read.`, { cause: error })
  }
  return parseKeyFile(file, text)
}

export function parseKeyFile(file: string, text: string): readonly AccountKey[] {
  const keys: AccountKey[] = []
  for (const [index, line] of text.split('\n').entries()) {
    const [key = '', mark, ...rest] = line.trim().split(/\s+/)
    if (key === '' || key.startsWith('#')) continue
    const place = `Line ${index + 1} of the key file ${file}`
    if (!isKey(key)) throw new RequestError('malformed', `${place} must be base64 of at least 16 bytes.`)
    if ((mark !== undefined && mark !== 'read-only') || rest.length > 0) {
      throw new RequestError('malformed', `${place} may have only the word read-only behind the key.`)
    }
    keys.push({ text: key, isReadOnly: mark !== undefined })
  }
  if (keys[0] === undefined) throw new RequestError('malformed', `There is no key in the key file ${file}.`)
  if (keys[0].isReadOnly) {
    throw new RequestError('malformed', `The first key of the key file ${file} must not be read-only.`)
  }
  return keys
}

function certificateFiles({ tlsCert, tlsKey }: FlagValues): CertificateFiles | undefined {
  if (tlsCert === undefined && tlsKey === undefined) return undefined
  if (tlsCert === undefined || tlsKey === undefined) {
    throw new RequestError('malformed', 'Give --tls-cert and --tls-key together.')
  }
  return { certificate: String(tlsCert), key: String(tlsKey) }
}

function isKey(text: string): boolean {
  return /^[A-Za-z0-9+/]{22,}={0,2}$/.test(text)
}

function readHostNames(value: unknown): readonly string[] {
  if (value === undefined) return []
  const names = String(value)
    .split(',')
    .map(name => name.trim())
  const wrong = names.find(name => !/^(\*|[\w.-]+|\[[0-9a-f:.]+\])$/i.test(name))
  if (wrong === undefined) return names
  throw new RequestError(
    'malformed',
    `--allowed-hosts takes names without a port, with commas between them, not '${wrong}'.`,
  )
}

function isLoopbackHost(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

function checkedPort(value: unknown, name: string): number {
  return wholeNumber(value, name, 0, 65_535)
}

function wholeNumber(value: unknown, name: string, min: number, max: number): number {
  const number = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : Number.NaN
  if (!(number >= min && number <= max)) {
    throw new RequestError('malformed', `${name} takes a whole number from ${min} to ${max}, not '${value}'.`)
  }
  return number
}

/** Not below a minute: clocks are corrected by seconds all the time. */
function clockStep(value: unknown, name: string): number {
  const seconds = parseDuration(value)
  if (seconds < 60 || seconds > 86_400) {
    throw new RequestError('malformed', `${name} takes a duration from 60s to 1d, not '${value}'.`)
  }
  return seconds
}

function oneOf<T extends string>(value: unknown, choices: readonly T[], name: string): T {
  const found = choices.find(choice => choice === value)
  if (found === undefined) throw new RequestError('malformed', `${name} takes ${choices.join(', ')}, not '${value}'.`)
  return found
}

/** Reads a switch. As a flag it is true; in an environment variable it is a word. */
export function isOn(value: unknown, name: string): boolean {
  if (value === undefined || value === false) return false
  if (value === true) return true
  return ['true', '1', 'on', 'yes'].includes(oneOf(value, ['true', '1', 'on', 'yes', 'false', '0', 'off', 'no'], name))
}
