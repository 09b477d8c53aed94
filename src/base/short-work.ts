/** Limits the time of work in the main thread, where all other requests wait for it. */

import { CapacityError } from './error.ts'
import { HoldWatch, WorkTooLong, watched } from './work.ts'

/** Time for the short work of one request, in one turn of the event loop. */
const shortWorkMsMax = 20

/** All short work of one request shares one limit. */
export class ShortWork {
  readonly #watch = new HoldWatch(shortWorkMsMax)

  /** `what` begins the sentence of the error. */
  do<T>(what: string, work: () => T): T {
    try {
      return watched(this.#watch, work)
    } catch (error) {
      if (!(error instanceof WorkTooLong)) throw error
      const sentence = `${what} takes more than ${shortWorkMsMax} milliseconds. Make it simpler.`
      throw new CapacityError('timed_out', sentence, 0)
    }
  }
}
