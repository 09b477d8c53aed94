/** Commands that ask about the server itself. */

import { arch, cpus, hostname, type as osType, platform, release, totalmem } from 'node:os'
import { machine } from '../../base/clock.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, date, double } from '../../document/bson/value.ts'
import { bsonBytesMax } from '../../document/bson/writer.ts'
import { purgeIntervalMs } from '../../ttl/purger.ts'
import { notAuthorized } from '../access/authorize.ts'
import { privilegesOf } from '../access/built-in-roles.ts'
import { mechanisms } from '../access/credentials.ts'
import { cluster } from '../access/privilege.ts'
import { showPrivileges } from '../access/shown.ts'
import { CommandError } from '../answers/command-error.ts'
import { Documents, encodeFields, type Fields, type FieldValue } from '../answers/fields.ts'
import { filterList } from '../find/list-filter.ts'
import { type Arguments, numberOf } from '../requests/arguments.ts'
import { type Command, type CommandCall, genericFields } from '../service/command.ts'
import { shownOperations } from '../service/current-operations.ts'
import type { MongoSettings } from '../service/service.ts'
import { setName, wireVersions } from './hello.ts'

/** The MongoDB version whose wire protocol we speak. Clients enable features by it. */
export const mongoVersion = '7.0.0'

function buildInfo({ service }: CommandCall): Fields {
  return {
    version: mongoVersion,
    gitVersion: 'mayfly',
    mayflyVersion: service.version,
    modules: [],
    allocator: 'system',
    javascriptEngine: 'none',
    sysInfo: 'deprecated',
    versionArray: [7, 0, 0, 0],
    openssl: { running: process.versions.openssl ?? '', compiled: process.versions.openssl ?? '' },
    buildEnvironment: {},
    bits: 64,
    debug: false,
    maxBsonObjectSize: bsonBytesMax,
    storageEngines: ['mayfly'],
  }
}

interface Parameter {
  readonly get: (settings: MongoSettings) => FieldValue
  /** Undefined: the parameter cannot be changed. */
  readonly set?: (settings: MongoSettings, args: Arguments, name: string) => void
}

const parameters: Readonly<Record<string, Parameter>> = {
  featureCompatibilityVersion: { get: () => ({ version: '7.0' }) },
  authenticationMechanisms: { get: () => mechanisms },
  ttlMonitorEnabled: { get: () => true },
  // The purger does not sleep between passes. The parameter exists for clients that set it.
  ttlMonitorSleepSecs: {
    get: () => 1,
    set: (_, args, name) => {
      if ((args.number(name) ?? 0) <= 0) throw new CommandError('BadValue', `${name} must be greater than 0`)
    },
  },
  perDocumentTtl: {
    get: settings => settings.isDocumentTtlOn,
    set: (settings, args, name) => {
      settings.isDocumentTtlOn = args.flag(name)
    },
  },
  enableTestCommands: {
    get: settings => settings.areTestCommandsOn,
    set: (_, __, name) => {
      throw new CommandError('IllegalOperation', `not allowed to change [${name}] at runtime`)
    },
  },
  changeStreamExpiryEvents: {
    get: settings => settings.areExpiryEventsOn,
    set: (settings, args, name) => {
      settings.areExpiryEventsOn = args.flag(name)
    },
  },
}

function getParameter({ args, service }: CommandCall): Fields {
  const asked = args.value('getParameter')
  const isAll = asked?.type === bsonType.string && asked.value === '*'
  const names = Object.keys(parameters).filter(name => isAll || args.has(name))
  if (names.length === 0) throw new CommandError('InvalidOptions', 'no option found to get')
  return Object.fromEntries(names.map(name => [name, parameters[name]!.get(service.settings)]))
}

function setParameter({ args, service }: CommandCall): Fields {
  const name = Object.keys(parameters).find(candidate => args.has(candidate))
  const parameter = name === undefined ? undefined : parameters[name]
  if (name === undefined || parameter?.set === undefined) {
    throw new CommandError('InvalidOptions', 'no option found to set, use help:true to see options ')
  }
  const was = parameter.get(service.settings)
  parameter.set(service.settings, args, name)
  return { was }
}

function getLog({ args }: CommandCall): Fields {
  const name = args.requiredString('getLog')
  if (name === '*') return { names: ['global', 'startupWarnings'] }
  if (name !== 'global' && name !== 'startupWarnings') {
    throw new CommandError('OperationFailed', `No log named '${name}'`)
  }
  return { totalLinesWritten: 0, log: [] }
}

function hostInfo(): Fields {
  return {
    system: {
      currentTime: date(BigInt(machine.epochMs())),
      hostname: hostname(),
      cpuAddrSize: 64,
      memSizeMB: BigInt(Math.floor(totalmem() / 2 ** 20)),
      numCores: cpus().length,
      cpuArch: arch(),
      numaEnabled: false,
    },
    os: { type: osType(), name: platform(), version: release() },
    extra: {},
  }
}

/** The account is shown as a user with the role root. */
const accountRoles = [{ role: 'root', db: 'admin' }]

function connectionStatus({ service, client, args }: CommandCall): MaybePromise<Fields> {
  const { user, named } = client
  const current = named === undefined ? undefined : service.users.current(named)
  return andThen(current, found => {
    const isGone = named !== undefined && found === undefined
    const shown = user === undefined || isGone ? [] : [user]
    const roles = shown.length === 0 ? [] : (found?.roles ?? accountRoles)
    return {
      authInfo: {
        authenticatedUsers: shown.map(({ user, db }) => ({ user, db })),
        authenticatedUserRoles: roles.map(({ role, db }) => ({ role, db })),
        ...(args.flag('showPrivileges') && { authenticatedUserPrivileges: showPrivileges(privilegesOf(roles)) }),
      },
    }
  })
}

async function serverStatus({ service, client }: CommandCall): Promise<Fields> {
  const { engine, cursors, sessions } = service
  const { heapUsed, rss } = process.memoryUsage()
  let deleted = 0
  for (const container of await engine.catalog.everyContainer()) deleted += engine.purger.purged(container)
  const uptimeMs = service.uptimeMs()
  return {
    host: client.serverAddress,
    version: mongoVersion,
    process: 'mayfly',
    pid: BigInt(process.pid),
    uptime: double(Math.floor(uptimeMs / 1000)),
    uptimeMillis: BigInt(Math.floor(uptimeMs)),
    uptimeEstimate: BigInt(Math.floor(uptimeMs / 1000)),
    localTime: date(BigInt(machine.epochMs())),
    connections: { current: service.connectionCount(), available: 100_000, totalCreated: client.connectionId },
    logicalSessionRecordCache: { activeSessionsCount: sessions.size },
    mem: { bits: 64, resident: Math.floor(rss / 2 ** 20), virtual: Math.floor(heapUsed / 2 ** 20), supported: true },
    metrics: {
      cursor: {
        open: { total: BigInt(cursors.size) },
        totalOpened: BigInt(cursors.statistics.opened),
        timedOut: BigInt(cursors.statistics.timedOut),
      },
      ttl: { deletedDocuments: BigInt(deleted), passes: BigInt(Math.floor(uptimeMs / purgeIntervalMs)) },
    },
    repl: {
      setName,
      setVersion: 1,
      isWritablePrimary: true,
      secondary: false,
      primary: client.serverAddress,
      me: client.serverAddress,
      hosts: [client.serverAddress],
    },
    storageEngine: { name: 'mayfly', supportsCommittedReads: true, persistent: true, readOnly: false },
    ...wireVersions,
  }
}

/**
 * The cost of the last command of this session or this connection, whichever is later, in Cosmos's words.
 */
function getLastRequestStatistics({ client, session }: CommandCall): Fields {
  const last = (session?.last?.number ?? 0) > (client.last?.number ?? 0) ? session!.last : client.last
  return {
    _t: 'GetRequestStatisticsResponse',
    CommandName: last?.command ?? '',
    RequestCharge: double(last?.chargeRu ?? 0),
    RequestDurationInMilliSeconds: double(Math.round(last?.elapsedMs ?? 0)),
  }
}

const currentOpOptions: ReadonlySet<string> = new Set([
  'currentOp',
  '$ownOps',
  '$all',
  '$truncateOps',
  ...genericFields,
])

/** Fields that are no options are conditions on the operations: `{currentOp: 1, 'command.comment': 'x'}`. */
async function currentOp(call: CommandCall): Promise<Fields> {
  const { args } = call
  const conditions = args.names
    .filter(name => !currentOpOptions.has(name))
    .map(name => [name, args.value(name)!] as const)
  const shown = shownOperations(call, { isOnlyOwn: args.flag('$ownOps') }).map(encodeFields)
  return { inprog: new Documents(await filterList(call, BsonDocument.of(conditions), shown)) }
}

/** A user may end its own operations, and others' with a privilege. */
function killOp(call: CommandCall): Fields {
  const { service, client, access, args } = call
  const id = numberOf(args.required('op'))
  if (id === undefined) throw new CommandError('TypeMismatch', 'Expected field "op" to have numeric type')
  const operation = service.operations.find(id)
  const isOwn = operation !== undefined && operation.client.owner === client.owner
  if (!isOwn && access?.rights.allows('killop', cluster) === false) throw notAuthorized(call)
  operation?.kill()
  return { info: 'attempting to kill op' }
}

function configureFailPoint({ service, args }: CommandCall): Fields {
  if (!service.settings.areTestCommandsOn) {
    throw new CommandError('CommandNotFound', "no such command: 'configureFailPoint'")
  }
  return { count: BigInt(service.failPoints.configure(args)) }
}

export const diagnosticCommands: readonly Command[] = [
  { name: 'ping', isPublic: true, run: () => ({}) },
  { name: 'buildInfo', isPublic: true, run: buildInfo },
  { name: 'buildinfo', isPublic: true, run: buildInfo },
  { name: 'getParameter', isForAdmin: true, run: getParameter },
  { name: 'setParameter', isForAdmin: true, run: setParameter },
  { name: 'getLog', isForAdmin: true, run: getLog },
  { name: 'hostInfo', isForAdmin: true, run: hostInfo },
  { name: 'whatsmyuri', isPublic: true, run: ({ client }) => ({ you: client.clientAddress }) },
  { name: 'connectionStatus', isPublic: true, run: connectionStatus },
  { name: 'serverStatus', run: serverStatus },
  { name: 'getCmdLineOpts', isForAdmin: true, run: () => ({ argv: ['mayfly'], parsed: {} }) },
  { name: 'getLastRequestStatistics', run: getLastRequestStatistics },
  { name: 'currentOp', isForAdmin: true, run: currentOp },
  { name: 'killOp', isForAdmin: true, run: killOp },
  { name: 'configureFailPoint', isForAdmin: true, run: configureFailPoint },
]
