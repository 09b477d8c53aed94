/** Makes the random names of things: resource numbers and activity ids. */

import { randomInt, randomUUID } from 'node:crypto'

/** Four random bytes that name one incarnation of a database or container. */
export function newResourceNumber(): number {
  return randomInt(1, 2 ** 32)
}

const prefix = randomUUID().slice(0, 24)
let counter = randomInt(2 ** 32)

/** A GUID that is unique in this process and improbable elsewhere; a counter costs a tenth of a fresh random one. */
export function newActivityId(): string {
  counter = (counter + 1) % 2 ** 48
  return prefix + counter.toString(16).padStart(12, '0')
}
