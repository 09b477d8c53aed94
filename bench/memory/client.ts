/** What hostile clients are made of: connections that stop in the middle, and such as ask for ever. */

import { connect, type Socket } from 'node:net'
import type { Document } from 'bson'
import { openHttp } from '../http.ts'
import { documentOf, type MongoConnection, openMongo, opMsg } from '../mongo-wire.ts'
import { DATABASE, signedRequest } from '../requests.ts'

export interface Target {
  readonly port: number
  readonly mongoPort: number
  readonly isOver: () => boolean
  /** Counts an answer, a refusal or a closed connection. */
  readonly count: (what: string) => void
}

export function times<T>(count: number, make: (n: number) => T): T[] {
  return Array.from({ length: count }, (_, n) => make(n))
}

/** A connection that sends this and reads nothing. What the server closes is counted. */
export async function openSilent({ count }: Target, port: number, bytes: Buffer): Promise<Socket> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  socket.on('error', () => {})
  socket.on('close', () => count('closed'))
  await new Promise<void>(resolve => socket.once('connect', resolve).once('close', resolve))
  socket.write(bytes)
  return socket
}

/** Reads as slowly as to see only how the answer begins. */
export async function openHalf(target: Target, request: Buffer, share: number): Promise<Socket> {
  const socket = await openSilent(target, target.port, request.subarray(0, Math.floor(request.length * share)))
  socket.on('data', (chunk: Buffer) => {
    const status = /^HTTP\/1.1 (\d+)/.exec(chunk.toString('latin1'))
    if (status !== null) target.count(status[1]!)
  })
  return socket
}

/** Sends requests one after the other until the end. A closed connection is opened again. */
export async function repeatHttp(target: Target, requestOf: () => Buffer): Promise<void> {
  while (!target.isOver()) {
    const { promise: failure, reject } = Promise.withResolvers<never>()
    failure.catch(() => {})
    try {
      const connection = await openHttp(target.port, reject)
      while (!target.isOver()) {
        const { status } = await Promise.race([connection.ask(requestOf()), failure])
        target.count(String(status))
        if (status === 429) await pause(50)
      }
      connection.close()
    } catch {
      target.count('closed')
      await pause(100)
    }
  }
}

export interface MongoClient {
  readonly connection: MongoConnection
  /** The answer, also a bad one. */
  ask(command: Document, sequence?: { readonly name: string; readonly documents: Buffer }): Promise<Document>
}

/** Works on a connection, again and again until the end. Bad answers and closed connections are counted. */
export async function repeatMongo(target: Target, work: (client: MongoClient) => Promise<void>): Promise<void> {
  while (!target.isOver()) {
    const { promise: failure, reject } = Promise.withResolvers<never>()
    failure.catch(() => {})
    try {
      const connection = await Promise.race([openMongo(target.mongoPort, reject), failure])
      const ask: MongoClient['ask'] = async (command, sequence) => {
        const message = opMsg({ ...command, $db: command.$db ?? DATABASE }, sequence)
        const answer = documentOf(await Promise.race([connection.ask(message), failure]))
        target.count(answer.ok === 1 ? 'ok' : String(answer.code))
        return answer
      }
      await work({ connection, ask })
      connection.close()
    } catch {
      target.count('closed')
      await pause(100)
    }
    await pause(20)
  }
}

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => setTimeout(resolve, ms))
}

export function itemsPath(container: string): string {
  return `/dbs/${DATABASE}/colls/${container}/docs`
}

/** A page of a feed, as large as it may be. */
export function feedRequest(container: string, headers: Readonly<Record<string, string>> = {}): Buffer {
  return signedRequest({
    method: 'GET',
    path: itemsPath(container),
    headers: { 'x-ms-max-item-count': '1000', 'x-ms-documentdb-partitionkeyrangeid': '0', ...headers },
  })
}
