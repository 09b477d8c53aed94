/** Ctrl-C in the middle of a command that has something to tidy up. */

import { RequestError } from '../base/error.ts'

/** What a shell reports of a command that was interrupted. */
export const interruptedExitCode = 130

export class Interrupted extends RequestError {}

/**
 * The first interrupt aborts the work, the second one ends the process. `left`: says what there is then of
 * what the work makes.
 */
export async function untilInterrupted<T>(left: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(interruptedExitCode)
    controller.abort()
  }
  process.on('SIGINT', stop).on('SIGTERM', stop)
  try {
    return await work(controller.signal)
  } catch (error) {
    if (!controller.signal.aborted) throw error
    throw new Interrupted('malformed', `Interrupted. ${left}`, { cause: error })
  } finally {
    process.off('SIGINT', stop).off('SIGTERM', stop)
  }
}
