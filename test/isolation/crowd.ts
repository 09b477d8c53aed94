/** A thread that asks the same over several connections at once. Its work is in no turn of the server. */

import { parentPort, workerData } from 'node:worker_threads'
import { openHttp } from '../../bench/http.ts'

const port = parentPort!
const failed = (error: Error) => port.postMessage({ failed: String(error) })
const connections = await Promise.all([...Array(workerData.size).keys()].map(() => openHttp(workerData.port, failed)))

port.on('message', async (request: Uint8Array) => {
  const answers = connections.map(connection => connection.ask(Buffer.from(request)))
  port.postMessage({ statuses: (await Promise.all(answers)).map(({ status }) => status) })
})
