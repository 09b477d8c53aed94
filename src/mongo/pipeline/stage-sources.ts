/** Stages that bring documents which are in no collection: statistics, sessions, what is under way. */

import { machine } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import { binary, date, int32, type Value } from '../../document/bson/value.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields, type Fields } from '../answers/fields.ts'
import { storageStats } from '../collections/collection-size.ts'
import { findCollection, requireCollection } from '../collections/collections.ts'
import { numberOf } from '../requests/arguments.ts'
import { nameOf } from '../requests/namespace.ts'
import type { CommandCall } from '../service/command.ts'
import { shownOperations } from '../service/current-operations.ts'

type StageSource = (call: CommandCall, namespace: Namespace, spec: Value) => Promise<Fields[]>

const sources: Readonly<Record<string, StageSource>> = {
  $collStats: async (call, namespace, spec) => {
    const { engine } = call.service
    const collection = await requireCollection(engine, namespace)
    const wanted = (name: string) => (spec.type === bsonType.document ? spec.get(name) : undefined)
    const storage = wanted('storageStats')
    const scale = storage?.type === bsonType.document ? numberOf(storage.get('scale') ?? int32(1)) : 1
    const stats = await storageStats(engine, collection, Math.max(1, scale ?? 1))
    return [
      {
        ns: nameOf(namespace),
        host: call.client.serverAddress,
        localTime: date(BigInt(machine.epochMs())),
        ...(wanted('count') && { count: stats.count }),
        ...(storage && { storageStats: stats }),
        ...(wanted('latencyStats') && {
          latencyStats: { reads: noLatency, writes: noLatency, commands: noLatency },
        }),
      },
    ]
  },
  $indexStats: async (call, namespace) => {
    const collection = await findCollection(call.service.engine, namespace)
    return (collection?.indexes ?? []).map(({ name, key, document }) => ({
      name,
      key,
      host: call.client.serverAddress,
      accesses: { ops: 0n, since: date(BigInt(machine.epochMs())) },
      spec: document,
    }))
  },
  $currentOp: async (call, { collection }, spec) => {
    if (call.database !== 'admin' || collection !== '$cmd.aggregate') {
      throw new CommandError(
        'InvalidNamespace',
        "$currentOp must be run against the 'admin' database with {aggregate: 1}",
      )
    }
    const all = spec.type === bsonType.document ? spec.get('allUsers') : undefined
    return shownOperations(call, { isOnlyOwn: !(all?.type === bsonType.bool && all.value) })
  },
  $listLocalSessions: listSessions,
  $listSessions: listSessions,
  $planCacheStats: async () => [],
}

const noLatency = { latency: 0n, ops: 0n }

/** Without `allUsers` and `users` the sessions of the user itself. */
async function listSessions({ service, client }: CommandCall, _: Namespace, spec: Value): Promise<Fields[]> {
  const isForAll =
    spec.type === bsonType.document && (spec.get('allUsers') !== undefined || spec.get('users') !== undefined)
  const shown = service.sessions.list().filter(({ owner }) => isForAll || owner === client.owner)
  return shown.map(({ id }) => ({ _id: { id: binary(id, 4) } }))
}

export async function* stageSource(
  call: CommandCall,
  namespace: Namespace,
  { name, spec }: { readonly name: string; readonly spec: Value },
): AsyncGenerator<readonly Uint8Array[]> {
  const source = Object.hasOwn(sources, name) ? sources[name] : undefined
  if (source === undefined) throw new CommandError(40324, `Unrecognized pipeline stage name: '${name}'`)
  const documents = await source(call, namespace, spec)
  if (documents.length > 0) yield documents.map(encodeFields)
}
