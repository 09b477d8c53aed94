/** A worker thread that sends large commands by their names. Its work is in no turn of the server. */

import { parentPort, workerData } from 'node:worker_threads'
import { deflateSync, inflateSync } from 'node:zlib'
import { documentOf, openMongo, opMsg } from '../../bench/mongo-wire.ts'
import { encodedSequence, largeCommands } from './large-commands.ts'

const port = parentPort!
const connection = await openMongo(workerData.mongoPort, error => port.postMessage({ failed: String(error) }))

port.on('message', async (name: string) => {
  const { command, sequence, isCompressed } = largeCommands[name]!()
  const encoded = sequence === undefined ? undefined : encodedSequence(sequence)
  const plain = opMsg({ ...command, $db: 'large' }, encoded)
  const message = isCompressed ? compressed(plain) : plain
  port.postMessage({ made: true })
  const { ok, code, errmsg } = documentOf(uncompressed(await connection.ask(message)))
  port.postMessage({ ok, code, errmsg })
})

/** The same message as OP_COMPRESSED, by zlib. */
function compressed(message: Buffer): Buffer {
  const head = Buffer.alloc(25)
  head.writeInt32LE(2012, 12)
  head.writeInt32LE(message.readInt32LE(12), 16)
  head.writeInt32LE(message.length - 16, 20)
  head[24] = 2
  const packed = Buffer.concat([head, deflateSync(message.subarray(16), { level: 1 })])
  packed.writeInt32LE(packed.length, 0)
  return packed
}

function uncompressed(message: Buffer): Buffer {
  if (message.readInt32LE(12) !== 2012) return message
  return Buffer.concat([message.subarray(0, 16), inflateSync(message.subarray(25))])
}
