/**
 * Threads that hold pipelines for cursors. A pipeline stays in its thread, because its stages have a state.
 * It works only while a client waits for its next results.
 *
 * A pipeline that works on one document holds its thread. So a new one goes to a thread without work, if
 * there is one.
 */

import { machine } from '../../base/clock.ts'
import type { HostedTask, StreamHost } from '../../query/hosted-stream.ts'
import type { WorkThread } from './work-thread.ts'

const threadsMax = 4

/** A thread takes some megabytes. It is given back when it has held nothing for this time. */
const restAfterMs = 10_000

interface Holder {
  readonly thread: WorkThread
  held: number
  /** Pipelines that were asked for results and have not given them. */
  atWork: number
  rest: NodeJS.Timeout | undefined
}

export class HeldPipelines implements AsyncDisposable {
  readonly #holders: readonly Holder[]

  constructor(makeThread: () => WorkThread) {
    this.#holders = Array.from({ length: threadsMax }, () => ({
      ...{ thread: makeThread(), held: 0, atWork: 0 },
      rest: undefined,
    }))
  }

  async hold(task: HostedTask, host: StreamHost, signal: AbortSignal): Promise<void> {
    const holder = this.#choose()
    machine.clearTimeout(holder.rest)
    holder.held += 1
    holder.atWork += 1
    let isAtWork = true
    const note = (works: boolean) => {
      if (works !== isAtWork) holder.atWork += works ? 1 : -1
      isAtWork = works
    }
    const noting: StreamHost = {
      open: find => host.open(find),
      next: stream => host.next(stream),
      close: stream => host.close(stream),
      give: async results => {
        note(false)
        await host.give(results)
        note(true)
      },
    }
    try {
      await holder.thread.ask({ kind: 'hold', task }, { reader: noting, signal })
    } finally {
      note(false)
      holder.held -= 1
      if (holder.held === 0) holder.rest = machine.setTimeout(() => holder.thread.rest(), restAfterMs).unref()
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { rest } of this.#holders) machine.clearTimeout(rest)
    await Promise.all(this.#holders.map(({ thread }) => thread[Symbol.asyncDispose]()))
  }

  /** A thread that has no work; otherwise a new one; otherwise the least busy. */
  #choose(): Holder {
    const ordered = this.#holders.toSorted((a, b) => a.atWork - b.atWork || b.held - a.held)
    return ordered[0]!
  }
}
