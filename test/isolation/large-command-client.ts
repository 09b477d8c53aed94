/** A worker thread that sends large commands by their names. Its work is in no turn of the server. */

import { parentPort, workerData } from 'node:worker_threads'
import { documentOf, openMongo, opMsg } from '../../bench/mongo-wire.ts'
import { encodedSequence, largeCommands } from './large-commands.ts'

const port = parentPort!
const connection = await openMongo(workerData.mongoPort, error => port.postMessage({ failed: String(error) }))

port.on('message', async (name: string) => {
  const { command, sequence } = largeCommands[name]!()
  const encoded = sequence === undefined ? undefined : encodedSequence(sequence)
  const message = opMsg({ ...command, $db: 'large' }, encoded)
  port.postMessage({ made: true })
  const { ok, code, errmsg } = documentOf(await connection.ask(message))
  port.postMessage({ ok, code, errmsg })
})
