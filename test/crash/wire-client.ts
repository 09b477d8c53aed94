/** One Mongo connection with a session. A command ends with its answer, or the connection is lost. */

import { randomUUID } from 'node:crypto'
import { type Document, Long, UUID } from 'bson'
import { RawClient } from '../conformance/mongo/support/raw-client.ts'
import { ConnectionLost } from './client.ts'
import { check } from './violation.ts'

export const wireDatabase = 'wire'

export class WireClient implements Disposable {
  readonly #raw: RawClient
  readonly #lsid = { id: new UUID(randomUUID()) }
  #number = 0

  private constructor(raw: RawClient) {
    this.#raw = raw
  }

  static async open(uri: string): Promise<WireClient> {
    try {
      return new WireClient(await RawClient.loggedIn(uri))
    } catch (cause) {
      throw new ConnectionLost('the login got no answer', { cause })
    }
  }

  /** The fields of the next retryable write or transaction. */
  nextNumber(): Document {
    return { lsid: this.#lsid, txnNumber: Long.fromNumber(++this.#number) }
  }

  /** Whatever the answer is. */
  async send(command: Document): Promise<Document> {
    try {
      return await this.#raw.command({ ...command, $db: command.$db ?? wireDatabase })
    } catch (cause) {
      throw new ConnectionLost(`${Object.keys(command)[0]} got no answer`, { cause })
    }
  }

  /** For commands whose success is taken for granted. */
  async run(command: Document): Promise<Document> {
    const answer = await this.send(command)
    const isGood = answer.ok === 1 && answer.writeErrors === undefined
    check(isGood, `${Object.keys(command)[0]} was answered with ${JSON.stringify(answer)}`)
    return answer
  }

  /** False: the transaction met a death or a new TTL, and was taken back. */
  async runUnlessAborted(command: Document): Promise<boolean> {
    const answer = await this.send(command)
    if (answer.errorLabels?.includes('TransientTransactionError')) return false
    check(answer.ok === 1 && answer.writeErrors === undefined, `answered with ${JSON.stringify(answer)}`)
    return true
  }

  [Symbol.dispose](): void {
    this.#raw.close()
  }
}
