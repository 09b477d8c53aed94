/** Connects the explorer with the two APIs, and loads it with its first request: many servers get none. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { fileURLToPath } from 'node:url'
import { isExecutable } from '../base/embedded.ts'
import type { Logger } from '../base/log.ts'
import { embeddedPage, type PageSource, pageInFolder } from '../explorer/files/page-source.ts'
import type { ExplorerServer } from '../explorer/server.ts'
import type { ExplorerOptions } from '../explorer/service/service.ts'
import type { MongoSide } from '../explorer/service/sides.ts'
import type { MongoServer } from '../mongo/server.ts'
import { buildPage } from './page-build.ts'

/** The built page has the same place in a checkout and in the package. */
const pageFolder = new URL('../../dist/page', import.meta.url)

export const page: PageSource = isExecutable ? embeddedPage('explorer/') : pageInFolder(fileURLToPath(pageFolder))

/** The certificate has a path below the explorer's, but the admin API serves it. */
export function isExplorerPath(url: string): boolean {
  const path = url.split('?', 1)[0]!
  return (path === '/_explorer' || path.startsWith('/_explorer/')) && path !== '/_explorer/emulator.pem'
}

const isApiPath = (url: string) => url.startsWith('/_explorer/api/')

export async function mongoSide(load: () => Promise<MongoServer>): Promise<MongoSide> {
  const { namedDocumentKey: keyOf } = await import('../mongo/collections/document-from-text.ts')
  return { ...(await load()).door, keyOf }
}

export class ExplorerSide {
  readonly #log: Logger
  readonly #options: ExplorerOptions
  #server: Promise<ExplorerServer> | undefined
  #page: Promise<void> | undefined

  constructor(log: Logger, options: ExplorerOptions) {
    this.#log = log
    this.#options = options
  }

  handle(req: IncomingMessage, res: ServerResponse): void {
    this.#server ??= this.#load()
    Promise.all([this.#server, isApiPath(req.url ?? '') ? undefined : this.#builtPage()]).then(
      ([server]) => server.handle(req, res),
      error => {
        this.#log.error({ error }, 'the explorer could not be loaded')
        res.destroy()
      },
    )
  }

  /** The page, built if its sources are newer. Calls of the API do not wait for it. */
  #builtPage(): Promise<void> {
    this.#page ??= buildPage(this.#log)
    return this.#page
  }

  async close(): Promise<void> {
    const server = await this.#server?.catch(() => undefined)
    server?.close()
  }

  async #load(): Promise<ExplorerServer> {
    const { explorerServer } = await import('../explorer/server.ts')
    return explorerServer(this.#options)
  }
}
