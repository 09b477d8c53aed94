/**
 * The query's link to the thread of user-defined functions: asks, then sleeps until the answer or timeout.
 */

import { MessageChannel, type MessagePort, receiveMessageOnPort, type Worker } from 'node:worker_threads'
import { machine } from '../base/clock.ts'
import { InvariantError } from '../base/error.ts'
import { type FromFunctionThread, type FunctionThreadData, type ToFunctionThread, turn } from './function-messages.ts'
import { startThread } from './start-thread.ts'

/** Longest wait for a thread that gets no processor time. */
const functionStarvedMsMax = 1000

export class FunctionThreadLink {
  readonly #thread: Worker
  readonly #port: MessagePort
  readonly #turns: Int32Array<SharedArrayBuffer>
  #isLost = false

  constructor(thread: Worker, port: MessagePort, turns: Int32Array<SharedArrayBuffer>) {
    this.#thread = thread
    this.#port = port
    this.#turns = turns
    thread.on('exit', () => {
      this.#isLost = true
    })
  }

  static async start(): Promise<FunctionThreadLink> {
    const { port1, port2 } = new MessageChannel()
    const turns = new Int32Array(new SharedArrayBuffer(4))
    const data: FunctionThreadData = { port: port2, turn: turns.buffer }
    const thread = startThread('function-thread', { workerData: data, transferList: [port2] })
    await new Promise((resolve, reject) => {
      thread.once('message', resolve)
      thread.once('error', reject)
    }).catch(cause => {
      throw new InvariantError('The thread of user-defined functions does not start.', { cause })
    })
    // A later crash shows up as a missing answer.
    thread.on('error', () => {})
    thread.unref()
    return new FunctionThreadLink(thread, port1, turns)
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Undefined when no answer came in time. The thread and all its contexts are then lost. */
  ask(message: ToFunctionThread, msMax: number): FromFunctionThread | undefined {
    Atomics.store(this.#turns, 0, turn.asked)
    this.#port.postMessage(message)
    Atomics.notify(this.#turns, 0)
    const answer = this.#waitForTurn(msMax) ? receiveMessageOnPort(this.#port)?.message : undefined
    if (answer === undefined || answer.kind === 'lost') this.end()
    return answer
  }

  post(message: ToFunctionThread): void {
    this.#port.postMessage(message)
    Atomics.notify(this.#turns, 0)
  }

  end(): Promise<number> {
    this.#isLost = true
    this.#port.close()
    return this.#thread.terminate()
  }

  /**
   * Gives up if the thread was seen at work and the process has used processor time since: this thread
   * sleeps, so that time was the function's. Elapsed time alone proves little, because a busy machine can
   * keep any thread waiting.
   */
  #waitForTurn(msMax: number): boolean {
    const startMs = machine.monotonicMs()
    let usage: NodeJS.CpuUsage | undefined
    for (let now = Atomics.load(this.#turns, 0); now !== turn.idle; now = Atomics.load(this.#turns, 0)) {
      if (Atomics.wait(this.#turns, 0, now, msMax) !== 'timed-out') continue
      if (machine.monotonicMs() - startMs > functionStarvedMsMax + msMax) return false
      if (Atomics.load(this.#turns, 0) !== turn.working) continue
      const used = process.cpuUsage(usage)
      if (usage !== undefined && (used.user + used.system) / 1000 > msMax / 2) return false
      usage ??= used
    }
    return true
  }
}
