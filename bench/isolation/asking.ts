/** Turns hostile works into bytes, and sends them. */

import { serialize } from 'bson'
import { type HttpConnection, openHttp } from '../http.ts'
import { documentOf, type MongoConnection, openMongo, opMsg } from '../mongo-wire.ts'
import { DATABASE, rawRequest, signedRequest } from '../requests.ts'
import { CONTAINER, MONGO_DATABASE } from './hostile-data.ts'
import type { HostileWork, HttpWork, MongoWork } from './hostile-work.ts'

export interface Ports {
  readonly http: number
  readonly mongo: number
}

/** What came back: a status of HTTP, or a code of MongoDB (0 is success). */
export interface Outcome {
  readonly code: number
  readonly text: string
}

/** Sends requests of one work over a connection of its own. */
export interface Asker {
  ask(n: number, more?: { readonly maxTimeMS?: number; readonly comment?: string }): Promise<Outcome>
  /** Leaves without waiting for anything. */
  leave(): void
}

export function httpBytes({ method, path, headers = {}, body }: HttpWork): Buffer {
  if (path.startsWith('/_')) return rawRequest({ method, path, headers, ...(body !== undefined && { body }) })
  const whole = path.startsWith('/dbs') ? path : `/dbs/${DATABASE}/colls/${CONTAINER}${path}`
  return signedRequest({ method, path: whole, headers, ...(body !== undefined && { body }) })
}

export function mongoBytes({ command, documents }: MongoWork, more: object = {}): Buffer {
  const whole = { ...command, ...more, $db: MONGO_DATABASE }
  if (documents === undefined) return opMsg(whole)
  return opMsg(whole, { name: 'documents', documents: Buffer.concat(documents.map(each => serialize(each))) })
}

export async function openAsker(ports: Ports, work: HostileWork): Promise<Asker> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failure.catch(() => {})
  return work.http === undefined
    ? mongoAsker(ports, work, { failure, reject })
    : httpAsker(ports, work, { failure, reject })
}

interface Failing {
  readonly failure: Promise<never>
  readonly reject: (error: Error) => void
}

async function httpAsker({ http: port }: Ports, work: HostileWork, { failure, reject }: Failing): Promise<Asker> {
  const connection: HttpConnection = await openHttp(port, reject)
  return {
    ask: async n => {
      const request = httpBytes(work.http!(n))
      if (work.pipelined !== undefined) return pipelined(connection, request, work.pipelined, 'HTTP/1.1 ', failure)
      const { status, body } = await Promise.race([connection.ask(request), failure])
      return { code: status, text: body.slice(0, 300) }
    },
    leave: () => connection.close(),
  }
}

async function mongoAsker({ mongo: port }: Ports, work: HostileWork, { failure, reject }: Failing): Promise<Asker> {
  const connection: MongoConnection = await openMongo(port, reject)
  return {
    ask: async (n, more) => {
      const request = mongoBytes(work.mongo!(n), more)
      if (work.pipelined !== undefined) return pipelined(connection, request, work.pipelined, 'cursor', failure)
      const { code = 0, errmsg = '', writeErrors } = documentOf(await Promise.race([connection.ask(request), failure]))
      const failed = writeErrors?.[0]
      return { code: failed?.code ?? code, text: String(failed?.errmsg ?? errmsg).slice(0, 300) }
    },
    leave: () => connection.close(),
  }
}

/** Sends a request many times at once, and counts a mark that each answer has once. */
async function pipelined(
  connection: HttpConnection | MongoConnection,
  request: Buffer,
  times: number,
  mark: string,
  failure: Promise<never>,
): Promise<Outcome> {
  const all = Buffer.concat(Array.from({ length: times }, () => request))
  await Promise.race([connection.flood(all, mark, times), failure])
  return { code: mark === 'cursor' ? 0 : 200, text: '' }
}
