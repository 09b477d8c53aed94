/** A server with a system clock whose machine's time the test moves; it can be stopped and started again. */

import type { Logger } from '../../src/base/log.ts'
import { parseConfig, settings } from '../../src/server/config.ts'
import { type RunningServer, startServer } from '../../src/server/start.ts'
import { call } from './signed-request.ts'
import { newClient, temporaryDirectory } from './start-server.ts'
import { testStore } from './test-store.ts'
import { TestTime } from './time-source.ts'

export interface LogLine {
  readonly level: string
  readonly message: string
}

export async function serverWithTime(wallSeconds: number) {
  const time = new TestTime(wallSeconds)
  const lines: LogLine[] = []
  const line = (level: string) => (_facts: unknown, message: string) => {
    lines.push({ level, message })
  }
  const log: Logger = { error: line('error'), warn: line('warn'), info: line('info'), debug() {} }
  const { store } = await testStore()
  const place = store === undefined ? { data: temporaryDirectory() } : { store }
  const config = parseConfig(settings({ port: '0', mongoPort: '0', logLevel: 'silent', ...place }, {}))
  let server: RunningServer
  const start = async () => {
    server = await startServer(config, log, { holdsProcess: false, timeSource: time })
  }
  await start()
  return {
    time,
    lines,
    get mongoUri() {
      return server.mongoUri!
    },
    client: () => newClient(server),
    admin: (method: string, path: string, body?: unknown) => call(server.endpoint, method, path, { body }),
    async restart() {
      await server[Symbol.asyncDispose]()
      await start()
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

/** Asks until it holds: what runs in the background takes a second or two. */
export async function eventually(holds: () => Promise<boolean>): Promise<void> {
  const untilMs = performance.now() + 20_000
  while (!(await holds())) {
    if (performance.now() > untilMs) throw new Error('it did not come true within 20 s')
    await new Promise(resolve => setTimeout(resolve, 100))
  }
}
