/** Cuts work at the places where a watch looks, and does it again until it is done. */

import assert from 'node:assert/strict'
import { type WorkWatch, watched } from '../../src/base/work.ts'
import { fc } from './property.ts'

class Cut extends Error {}

/** Ends the work at its nth look. */
function cutAt(look: number): WorkWatch {
  let left = look
  return {
    look: () => {
      if (left-- === 0) throw new Cut()
    },
  }
}

/** What the work gives, or the text of its error. */
export async function outcome<T>(work: () => T | Promise<T>): Promise<T | string> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof Cut) throw error
    return String(error)
  }
}

/** Cuts the work later and later, by these numbers of looks, until it is done. Tells how often it was cut. */
export async function untilDone<T>(work: () => Promise<T> | T, steps: readonly number[]) {
  let cuts = 0
  for (let look = 0; ; look += steps[cuts % steps.length]!) {
    try {
      return { result: await outcome(() => watched(cutAt(look), work)), cuts }
    } catch (error) {
      assert.ok(error instanceof Cut)
      cuts++
    }
  }
}

/** Does the work until its nth look. Returns undefined if it was cut there. */
export function untilLook<T>(look: number, work: () => T): T | undefined {
  try {
    return watched(cutAt(look), work)
  } catch (error) {
    if (error instanceof Cut) return undefined
    throw error
  }
}

export const someSteps = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 5 })
