/**
 * hello and isMaster: the greeting that tells a client about the server. We are a replica set of one member.
 */

import { machine } from '../../base/clock.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { bsonType } from '../../document/bson/types.ts'
import { date, objectId } from '../../document/bson/value.ts'
import { bsonBytesMax } from '../../document/bson/writer.ts'
import type { Fields, FieldValue } from '../answers/fields.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { applicationNameOf } from '../service/fail-points.ts'
import { mongoSessionMinutes } from '../session/retry-record.ts'
import { compressors } from '../wire/compression.ts'
import { mongoMessageBytesMax } from '../wire/frame.ts'
import { mongoWriteBatchMax } from '../write/write-command.ts'
import { startLogin } from './login.ts'

/** The name that Cosmos uses. */
export const setName = 'globaldb'

/**
 * Wire version 21 is MongoDB 7.0. With version 25 drivers would send `bulkWrite`, which is not supported.
 */
export const wireVersions = { minWireVersion: 0, maxWireVersion: 21 } as const

/** The id of the election that made this server primary. There was only one. */
const electionId = objectId(Buffer.from('7fffffff0000000000000001', 'hex'))

function hello(call: CommandCall): MaybePromise<Fields> {
  return andThen(supportedMechanisms(call), saslSupportedMechs =>
    andThen(speculate(call, saslSupportedMechs), speculativeAuthenticate => ({
      ...greeting(call),
      saslSupportedMechs,
      speculativeAuthenticate,
    })),
  )
}

function greeting(call: CommandCall): Fields {
  const { args, client } = call
  client.applicationName ??= applicationNameOf(args)
  const isOld = args.name.toLowerCase() === 'ismaster'
  return {
    helloOk: true,
    [isOld ? 'ismaster' : 'isWritablePrimary']: true,
    setName,
    setVersion: 1,
    secondary: false,
    hosts: [client.serverAddress],
    primary: client.serverAddress,
    me: client.serverAddress,
    electionId,
    maxBsonObjectSize: bsonBytesMax,
    maxMessageSizeBytes: mongoMessageBytesMax,
    maxWriteBatchSize: mongoWriteBatchMax,
    localTime: date(BigInt(machine.epochMs())),
    logicalSessionTimeoutMinutes: mongoSessionMinutes,
    connectionId: client.connectionId,
    ...wireVersions,
    readOnly: false,
    compression: commonCompressors(call),
  }
}

/** The compressors that both sides know, in the client's order. */
function commonCompressors({ args }: CommandCall): FieldValue {
  const offered = args.array('compression')?.elements ?? []
  const common = offered.flatMap(name =>
    name.type === bsonType.string && Object.hasOwn(compressors, name.value) ? [name.value] : [],
  )
  return common.length === 0 ? undefined : common
}

/** Asked for as `database.user`. */
function supportedMechanisms({ args, service }: CommandCall): MaybePromise<readonly string[] | undefined> {
  const asked = args.string('saslSupportedMechs')
  if (asked === undefined) return undefined
  const dot = asked.indexOf('.')
  return service.logins.mechanismsOf({ db: asked.slice(0, Math.max(0, dot)), user: asked.slice(dot + 1) })
}

/**
 * The greeting may carry the first step of the login. If that fails, or if the user cannot log in so, the
 * client starts a normal login.
 */
function speculate(call: CommandCall, supported: readonly string[] | undefined): MaybePromise<FieldValue> {
  const step = call.args.within('speculativeAuthenticate')
  if (step === undefined || supported?.includes(step.string('mechanism') ?? '') === false) return undefined
  return startLogin(call, step, step.string('db') ?? 'admin')
}

export const helloCommands: readonly Command[] = [
  { name: 'hello', isPublic: true, run: hello },
  { name: 'isMaster', isPublic: true, run: hello },
  { name: 'ismaster', isPublic: true, run: hello },
]
