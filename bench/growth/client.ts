/** A client of both protocols that asks one thing at a time and expects good answers. */

import type { Document } from 'bson'
import { type Answer, type HttpConnection, openHttp } from '../http.ts'
import { askMongo, documentOf, type MongoConnection, openMongo, opMsg } from '../mongo-wire.ts'
import { DATABASE, rawRequest, signedRequest } from '../requests.ts'
import type { MayflyProcess } from '../targets.ts'
import { CONTAINER } from './items.ts'

export class Client implements Disposable {
  readonly #http: HttpConnection
  readonly #mongo: MongoConnection
  readonly #failure: Promise<never>

  private constructor(http: HttpConnection, mongo: MongoConnection, failure: Promise<never>) {
    this.#http = http
    this.#mongo = mongo
    this.#failure = failure
  }

  static async open({ port, mongoPort }: MayflyProcess): Promise<Client> {
    const { promise: failure, reject } = Promise.withResolvers<never>()
    failure.catch(() => {})
    return new Client(await openHttp(port, reject), await openMongo(mongoPort, reject), failure)
  }

  async ask(request: Buffer, status = 200): Promise<Answer> {
    const answer = await Promise.race([this.#http.ask(request), this.#failure])
    if (answer.status !== status) throw new Error(`Answered ${answer.status}: ${answer.body.slice(0, 300)}`)
    return answer
  }

  /** A signed request for the container, or below it. */
  resource(
    method: string,
    {
      path = '',
      headers,
      body,
      status,
    }: { path?: string; headers?: Record<string, string>; body?: string; status?: number },
  ): Promise<Answer> {
    const request = { method, path: `/dbs/${DATABASE}/colls/${CONTAINER}${path}` }
    return this.ask(signedRequest({ ...request, ...(headers && { headers }), ...(body && { body }) }), status)
  }

  async admin(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const text = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await this.ask(rawRequest({ method, path: `/_mayfly/${path}`, ...text }))
    return JSON.parse(answer.body) as Record<string, unknown>
  }

  async command(
    command: Document,
    sequence?: { readonly name: string; readonly documents: Buffer },
  ): Promise<Document> {
    const message = opMsg({ ...command, $db: DATABASE }, sequence)
    return documentOf(await Promise.race([askMongo(this.#mongo, message), this.#failure]))
  }

  [Symbol.dispose](): void {
    this.#http.close()
    this.#mongo.close()
  }
}
