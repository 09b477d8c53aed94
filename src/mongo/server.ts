/** The Mongo side: takes connections, plain or decrypted, and runs the commands that arrive on them. */

import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { AccountKeys } from '../base/account-keys.ts'
import type { OnAnswer } from '../base/answered.ts'
import { type Clock, machine } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { MemoryAccount } from '../base/memory-account.ts'
import type { Engine } from '../engine/engine.ts'
import type { ImportEdge } from '../engine/import-writer.ts'
import type { Namespace } from '../mql/stages/namespace.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { KeepTtl } from '../transfer/keep-ttl.ts'
import { Users } from './access/users.ts'
import { emptyDocument } from './answers/fields.ts'
import { createCollection, findCollection } from './collections/collections.ts'
import { Connection } from './connection.ts'
import { type MongoDoor, mongoDoor } from './door.ts'
import { dropForgottenIndexes, finishRewriting, renewCollatedIndexes } from './indexes/recovery.ts'
import { Outbox } from './outbox.ts'
import { checkDatabaseName, checkedNamespace } from './requests/namespace.ts'
import { ChangeOrigins } from './service/change-origins.ts'
import { ClusterTime } from './service/cluster-time.ts'
import { CursorRegistry } from './service/cursors.ts'
import { FailPoints } from './service/fail-points.ts'
import { Operations } from './service/operations.ts'
import type { MongoService, MongoSettings } from './service/service.ts'
import { SnapshotReads } from './service/snapshot-reads.ts'
import { Streams } from './service/streams.ts'
import { Client } from './session/client.ts'
import { PastDocuments } from './session/past-documents.ts'
import { Logins } from './session/scram.ts'
import { Sessions } from './session/sessions.ts'
import { WriteIntents } from './session/write-intents.ts'
import { importEdge } from './write/import-edge.ts'

/** How often idle cursors and sessions are looked for. */
const mongoHousekeepingMs = 60_000

export interface MongoOptions {
  readonly engine: Engine
  readonly clock: Clock
  readonly log: Logger
  readonly memory: MemoryAccount
  readonly keys: AccountKeys
  readonly version: string
  readonly settings: MongoSettings
  readonly uptimeMs: () => number
  readonly onAnswer: OnAnswer
}

export class MongoServer {
  readonly #service: MongoService
  readonly #connections = new Set<Connection>()
  readonly #outbox = new Outbox()
  readonly #housekeeping: NodeJS.Timeout
  #lastConnectionId = 0

  private constructor(options: MongoOptions) {
    const users = new Users(options.engine)
    const clusterTime = new ClusterTime(options.clock, () => options.engine.journalTick())
    const past = new PastDocuments()
    this.#service = {
      ...options,
      users,
      logins: new Logins({ keys: options.keys, users }),
      sessions: new Sessions(),
      cursors: new CursorRegistry(),
      operations: new Operations(),
      clusterTime,
      streams: new Streams(),
      origins: new ChangeOrigins(),
      failPoints: new FailPoints(),
      past,
      snapshots: new SnapshotReads(past, clusterTime),
      intents: new WriteIntents(),
      connectionCount: () => this.#connections.size,
    }
    // Idle cursors and sessions must go even when no new client comes.
    this.#housekeeping = machine.setInterval(() => {
      this.#service.cursors.closeIdle()
      this.#service.cursors.closeLeft()
      this.#service.sessions.forgetOld()
    }, mongoHousekeepingMs)
    this.#housekeeping.unref()
  }

  /** Finishes interrupted work of the last run, before clients are served. */
  static async open(options: MongoOptions): Promise<MongoServer> {
    await dropForgottenIndexes(options.engine)
    await renewCollatedIndexes(options.engine)
    const server = new MongoServer(options)
    // Only the expiry of the affected collections waits for this.
    finishRewriting(options.engine, options.settings).catch(error => {
      options.log.error({ error }, 'the ends of documents could not be written anew; their expiry waits')
    })
    return server
  }

  /** For the explorer. */
  get door(): MongoDoor {
    return mongoDoor(this.#service, () => ++this.#lastConnectionId)
  }

  /**
   * `stream` is the socket, or the decrypted stream of it. `onUnread` is called when the client does not
   * read as fast as it is answered.
   */
  serve(stream: Duplex, socket: Socket, onUnread: () => void): Connection {
    const { memory } = this.#service
    const client = new Client({
      shares: { stranger: memory.strangers, own: memory.share() },
      connectionId: ++this.#lastConnectionId,
      serverAddress: addressOf(socket.localAddress, socket.localPort),
      clientAddress: addressOf(socket.remoteAddress, socket.remotePort),
    })
    const connection = new Connection(this.#service, stream, client, { outbox: this.#outbox, onUnread })
    this.#connections.add(connection)
    stream.once('close', () => this.#connections.delete(connection))
    return connection
  }

  /** Reads imported rows for a collection, and writes them. */
  importEdge(container: ContainerRecord, keepTtl: KeepTtl): ImportEdge {
    return importEdge(this.#service, container, keepTtl)
  }

  /** Finds a collection or creates it. `shardKey`: `/a` or `a`. */
  async ensureCollection(namespace: Namespace, shardKey: string | undefined): Promise<ContainerRecord> {
    checkDatabaseName(namespace.database)
    const { engine } = this.#service
    const found = await findCollection(engine, checkedNamespace(namespace.database, namespace.collection))
    if (found !== undefined) return found.container
    const shard = shardKey === undefined ? {} : { shardKey: [shardKey.replace(/^\//, '').replaceAll('/', '.')] }
    return (await createCollection(engine, namespace, { options: emptyDocument, ...shard })).container
  }

  get state(): { readonly connections: number; readonly cursors: number; readonly sessions: number } {
    const { cursors, sessions } = this.#service
    return { connections: this.#connections.size, cursors: cursors.size, sessions: sessions.size }
  }

  /** Closes every connection after its running command is answered. */
  close(): void {
    machine.clearInterval(this.#housekeeping)
    for (const connection of this.#connections) connection.close()
  }
}

/** The address as a client dials it: IPv6 in brackets, mapped IPv4 as plain IPv4. */
function addressOf(address = '', port = 0): string {
  const plain = address.startsWith('::ffff:') ? address.slice('::ffff:'.length) : address
  return plain.includes(':') ? `[${plain}]:${port}` : `${plain}:${port}`
}
