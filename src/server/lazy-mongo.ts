/** The Mongo side of the server. Its code is loaded when something needs it: many servers have no client. */

import { machine } from '../base/clock.ts'
import type { MongoOptions, MongoServer } from '../mongo/server.ts'
import type { ServerIndexKeys } from './server-index-keys.ts'

export class LazyMongo {
  readonly #options: Omit<MongoOptions, 'uptimeMs'>
  readonly #indexKeys: ServerIndexKeys
  readonly #startedMs: number
  #loading: Promise<MongoServer> | undefined
  #opened: MongoServer | undefined

  /** `startedMs`: the start of the server, in monotonic time. */
  constructor(options: Omit<MongoOptions, 'uptimeMs'>, indexKeys: ServerIndexKeys, startedMs: number) {
    this.#options = options
    this.#indexKeys = indexKeys
    this.#startedMs = startedMs
  }

  /** The server, if it is open. */
  get opened(): MongoServer | undefined {
    return this.#opened
  }

  readonly load = (): Promise<MongoServer> => {
    this.#loading ??= this.#open().catch(error => {
      // The next client tries again: the store may have been away.
      this.#loading = undefined
      throw error
    })
    return this.#loading
  }

  async #open(): Promise<MongoServer> {
    const { MongoServer } = await import('../mongo/server.ts')
    await this.#indexKeys.loadForDocuments()
    const uptimeMs = () => machine.monotonicMs() - this.#startedMs
    this.#opened = await MongoServer.open({ ...this.#options, uptimeMs })
    return this.#opened
  }
}
