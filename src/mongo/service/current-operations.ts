/** The running commands as `currentOp` and `$currentOp` show them. */

import { machine } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { Fields } from '../answers/fields.ts'
import type { CommandCall } from './command.ts'
import type { Operation } from './operations.ts'

/** Longer commands are not shown, but for their name and comment. */
const shownCommandBytesMax = 16 * 1024

/** What MongoDB calls the operations of these commands. All others are commands. */
const operationKinds: Readonly<Record<string, string>> = {
  find: 'query',
  getMore: 'getmore',
  insert: 'insert',
  update: 'update',
  delete: 'remove',
  killCursors: 'killcursors',
}

/** Fields that hold a password or prove one. */
const secrets: ReadonlySet<string> = new Set(['pwd', 'payload', 'speculativeAuthenticate'])

/** A user who may not see all operations sees its own. */
export function shownOperations({ service, client }: CommandCall, options: { readonly isOnlyOwn: boolean }): Fields[] {
  return service.operations
    .list()
    .filter(operation => !options.isOnlyOwn || operation.client.owner === client.owner)
    .map(describe)
}

function describe(operation: Operation): Fields {
  const { id, args, client, lsid, elapsedMs, isKilled } = operation
  const { user, connectionId } = client
  return {
    type: 'op',
    host: client.serverAddress,
    desc: `conn${connectionId}`,
    connectionId,
    client: client.clientAddress,
    appName: client.applicationName,
    active: true,
    currentOpTime: new Date(machine.epochMs()).toISOString(),
    effectiveUsers: user === undefined ? undefined : [{ user: user.user, db: user.db }],
    opid: id,
    lsid,
    secs_running: BigInt(Math.floor(elapsedMs / 1000)),
    microsecs_running: BigInt(Math.floor(elapsedMs * 1000)),
    op: Object.hasOwn(operationKinds, args.name) ? operationKinds[args.name] : 'command',
    ns: namespaceOf(operation),
    command: commandOf(operation),
    killPending: isKilled ? true : undefined,
    numYields: 0,
    locks: {},
    waitingForLock: false,
    lockStats: {},
  }
}

function namespaceOf({ args, database }: Operation): string {
  const subject = args.value(args.name === 'getMore' ? 'collection' : args.name)
  if (subject?.type === bsonType.string) return `${database}.${subject.value}`
  return args.name === 'aggregate' ? `${database}.$cmd.aggregate` : `${database}.$cmd`
}

function commandOf({ args }: Operation): Fields {
  if (args.bytes.length > shownCommandBytesMax) {
    return { $truncated: `{ ${args.name}: ... }`, comment: args.value('comment') }
  }
  return Object.fromEntries(args.names.map(name => [name, secrets.has(name) ? 'xxx' : args.value(name)]))
}
