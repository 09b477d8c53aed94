/** Makes resource numbers and activity ids. */

import { randomInt, randomUUID } from 'node:crypto'

/** A random 32-bit number that tells a database or container from an earlier one with the same name. */
export function newResourceNumber(): number {
  return randomInt(1, 2 ** 32)
}

const processPart = randomUUID().slice(0, 24)
const endings = Array.from({ length: 256 }, (_, ending) => ending.toString(16).padStart(2, '0'))
/** Starts at a multiple of 256, so that the first call formats `prefix`. */
let counter = randomInt(2 ** 24) * endings.length
let prefix = ''

/** A GUID: a random start and a counter. This costs a tenth of a fresh random one. */
export function newActivityId(): string {
  const ending = counter % endings.length
  if (ending === 0) prefix = processPart + (counter / endings.length).toString(16).padStart(10, '0')
  counter = (counter + 1) % 2 ** 48
  return prefix + endings[ending]
}
