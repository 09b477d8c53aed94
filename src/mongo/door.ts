/**
 * The way into this edge for the explorer, in the same process: the same commands, checks and texts as over
 * the network, without a login. Whoever holds the door has checked who asks.
 */

import {
  CapacityError,
  type CapacityErrorKind,
  InvariantError,
  RequestError,
  type RequestErrorKind,
} from '../base/error.ts'
import { ShortWork } from '../base/short-work.ts'
import { bsonType } from '../document/bson/types.ts'
import type { Value } from '../document/bson/value.ts'
import { BsonDocument } from '../document/bson/value.ts'
import { encodeDocument } from '../document/bson/writer.ts'
import { prepareFilter } from '../mql/prepare.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { StoredItem } from '../store/item.ts'
import { errorCodes } from './answers/error-codes.ts'
import { encodeFields } from './answers/fields.ts'
import { Collection } from './collections/collections.ts'
import { dispatch } from './dispatch.ts'
import type { MongoService } from './service/service.ts'
import { Client } from './session/client.ts'

/** What the explorer shows of a collection besides its documents. */
export interface ShownCollection {
  readonly isView: boolean
  readonly shardKey: readonly string[]
  /** Dates in fields decide when documents die. */
  readonly hasDateDeadlines: boolean
  readonly indexes: readonly BsonDocument[]
}

export interface MongoDoor {
  /** Fails with a `MayflyError`, also if a document of the command could not be written. */
  run(
    database: string,
    command: BsonDocument,
    signal?: AbortSignal,
  ): Promise<{ readonly answer: BsonDocument; readonly chargeRu: number }>
  /** A test for the items of a collection. */
  filter(filter: BsonDocument): (item: Pick<StoredItem, 'body'>) => boolean
  describe(container: ContainerRecord): ShownCollection
}

export function mongoDoor(service: MongoService, newConnectionId: () => number): MongoDoor {
  /** All explorers share this part of the memory. */
  const share = service.memory.share()

  async function run(database: string, command: BsonDocument, signal?: AbortSignal) {
    signal?.throwIfAborted()
    const client = new Client({
      shares: { stranger: share, own: share },
      connectionId: newConnectionId(),
      serverAddress: 'explorer',
      clientAddress: 'explorer',
    })
    client.user = { db: 'admin', user: 'explorer' }
    const onAbort = () => {
      client.hasGone = true
      service.operations.abandon(client.connectionId)
    }
    signal?.addEventListener('abort', onAbort, { once: true })
    try {
      const answer = await dispatch(service, client, { body: encodeDocument(command), sequences: [], database })
      signal?.throwIfAborted()
      const shown = BsonDocument.view(encodeFields(answer))
      refuseFailed(shown)
      return { answer: shown, chargeRu: client.last?.chargeRu ?? 0 }
    } finally {
      signal?.removeEventListener('abort', onAbort)
    }
  }

  return {
    run,
    filter: filter => {
      const work = new ShortWork()
      const now = BigInt(service.clock.nowMs())
      const constants = { now, clusterTime: service.clusterTime.now().value, random: Math.random, collation: undefined }
      const spec = { filter, variables: { constants, let: undefined }, allowsNear: false }
      const matcher = work.do('The filter', () => prepareFilter(spec))
      return ({ body }) => work.do('The filter', () => matcher.matches(body as Uint8Array))
    },
    describe: container => {
      const { isView, shardKey = [], definition, indexes } = new Collection(container)
      return {
        isView,
        shardKey,
        hasDateDeadlines: definition.deadlines === 'dates',
        indexes: indexes.map(({ document }) => document),
      }
    },
  }
}

function refuseFailed(answer: BsonDocument): void {
  const ok = answer.get('ok')
  if (numberIn(ok) !== 1) throw failure(answer)
  const errors = answer.get('writeErrors')
  const [first] = errors?.type === bsonType.array ? errors.elements : []
  if (first?.type === bsonType.document) throw failure(first)
}

function numberIn(value: Value | undefined): number | undefined {
  return value?.type === bsonType.double || value?.type === bsonType.int32 ? value.value : undefined
}

const requestKinds: Readonly<Record<number, RequestErrorKind>> = {
  [errorCodes.FailedToParse]: 'syntax',
  [errorCodes.NamespaceNotFound]: 'namespace_not_found',
  [errorCodes.IndexNotFound]: 'not_found',
  [errorCodes.NamespaceExists]: 'already_exists',
  11000: 'already_exists',
  [errorCodes.IndexOptionsConflict]: 'already_exists',
  [errorCodes.IndexKeySpecsConflict]: 'already_exists',
  [errorCodes.WriteConflict]: 'precondition_failed',
  [errorCodes.Unauthorized]: 'forbidden',
  [errorCodes.CursorNotFound]: 'position_gone',
  [errorCodes.CommandNotFound]: 'unsupported',
  [errorCodes.CommandNotSupported]: 'unsupported',
  10334: 'too_large',
}

const capacityKinds: Readonly<Record<number, CapacityErrorKind>> = {
  [errorCodes.TooManyRequests]: 'throttled',
  [errorCodes.MaxTimeMSExpired]: 'timed_out',
  [errorCodes.ShutdownInProgress]: 'unavailable',
}

/** Commands and single writes fail alike: `code` and `errmsg`. */
function failure(answer: BsonDocument): Error {
  const code = numberIn(answer.get('code')) ?? 0
  const text = answer.get('errmsg')
  const message = text?.type === bsonType.string ? text.value : 'The command failed.'
  if (code === errorCodes.InternalError) return new InvariantError(message)
  const capacity = capacityKinds[code]
  if (capacity !== undefined) {
    return new CapacityError(capacity, message, Number(/RetryAfterMs=(\d+)/.exec(message)?.[1] ?? 1000))
  }
  return new RequestError(requestKinds[code] ?? 'malformed', message)
}
