/** Handles Ctrl-C for commands that must clean up before they end. */

import { RequestError } from '../base/error.ts'

/** The exit code that shells report for an interrupted command. */
export const interruptedExitCode = 130

export class Interrupted extends RequestError {}

/**
 * The first interrupt aborts the work, the second one ends the process. `left`: a sentence that says what
 * the aborted work has left behind.
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
