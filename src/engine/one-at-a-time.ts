/** Work that would disturb other work of its kind: each begins when those before it are over. */

import { nextSlice } from '../base/slices.ts'

export class OneAtATime {
  #last: Promise<unknown> = Promise.resolve()

  do<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(nextSlice).then(work)
    this.#last = done.catch(() => {})
    return done
  }
}
