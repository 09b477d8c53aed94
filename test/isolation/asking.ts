/** A thread that sends a call over http, several times at once. Its work is in no turn of the server. */

import { request } from 'node:http'
import { parentPort, workerData } from 'node:worker_threads'

const port = parentPort!

interface Asked {
  readonly method: string
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  readonly times?: number
}

/** Only the status of a large answer is of interest, and the start of the others. */
const shownChars = 1_000_000

function ask({ method, path, headers = {}, body }: Asked): Promise<{ readonly status: number; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const sent = {
      'x-mayfly-explorer': '1',
      ...(body !== undefined && { 'content-type': 'application/json' }),
      ...headers,
    }
    const req = request(
      { host: '127.0.0.1', port: workerData.port, method, path, headers: sent, agent: false },
      res => {
        let text = ''
        res.setEncoding('latin1')
        res.on('data', (chunk: string) => {
          if (text.length < shownChars) text += chunk
        })
        res.on('end', () => resolve({ status: res.statusCode!, text })).on('error', reject)
      },
    )
    req.on('error', reject).end(body)
  })
}

port.on('message', async (asked: Asked) => {
  port.postMessage(await Promise.all(Array.from({ length: asked.times ?? 1 }, () => ask(asked))))
})
