/** Runs pieces of work one after the other, because they would disturb each other. */

import { nextSlice } from '../base/slices.ts'

export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  do<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(nextSlice).then(work)
    this.#last = done.catch(() => {})
    return done
  }
}
