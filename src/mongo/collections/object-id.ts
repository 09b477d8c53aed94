/** Makes ObjectIds for documents that come without an `_id`. */

import { randomBytes, randomInt } from 'node:crypto'
import { machine } from '../../base/clock.ts'

const process = randomBytes(5)
let counter = randomInt(2 ** 24)

/** Four bytes of seconds, five bytes of this process, three bytes of a counter. */
export function newObjectId(): Buffer {
  counter = (counter + 1) & 0xffffff
  const id = Buffer.allocUnsafe(12)
  id.writeUInt32BE(Math.floor(machine.epochMs() / 1000), 0)
  id.set(process, 4)
  id.writeUIntBE(counter, 9, 3)
  return id
}
