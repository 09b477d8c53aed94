/** Makes the random names of things: resource numbers and activity ids. */

import { randomInt, randomUUID } from 'node:crypto'

/** Four random bytes that name one incarnation of a database or container. */
export function newResourceNumber(): number {
  return randomInt(1, 2 ** 32)
}

const start = randomUUID().slice(0, 24)
const endings = Array.from({ length: 256 }, (_, ending) => ending.toString(16).padStart(2, '0'))
/** Begins where all but the ending is printed. */
let counter = randomInt(2 ** 24) * endings.length
let beginning = ''

/**
 * A GUID that is unique in this process and improbable elsewhere; a counter costs a tenth of a fresh random
 * one.
 */
export function newActivityId(): string {
  const ending = counter % endings.length
  if (ending === 0) beginning = start + (counter / endings.length).toString(16).padStart(10, '0')
  counter = (counter + 1) % 2 ** 48
  return beginning + endings[ending]
}
