/** Makes the random names of things: resource numbers and activity ids. */

import { randomInt, randomUUID } from 'node:crypto'

/** Four random bytes that name one incarnation of a database or container. */
export function newResourceNumber(): number {
  return randomInt(1, 2 ** 32)
}

const start = randomUUID().slice(0, 24)
let counter = randomInt(2 ** 32)
let prefix = ''

/** Their last three digits, printed once. */
const endings = Array.from({ length: 2 ** 12 }, (_, ending) => ending.toString(16).padStart(3, '0'))

/** A GUID that is unique in this process and improbable elsewhere; a counter costs a tenth of a fresh random one. */
export function newActivityId(): string {
  counter = (counter + 1) % 2 ** 48
  const ending = counter % endings.length
  if (ending === 0 || prefix === '') {
    prefix =
      start +
      Math.floor(counter / endings.length)
        .toString(16)
        .padStart(9, '0')
  }
  return prefix + endings[ending]
}
