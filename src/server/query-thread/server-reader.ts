/** Reads a container through the server, for a thread that does not read the store by itself. */

import type { MessagePort } from 'node:worker_threads'
import { KiB } from '../../base/limits.ts'
import type { StreamHost } from '../../query/hosted-stream.ts'
import type { ContainerReader, PageSize } from '../../store/reading.ts'
import type { ReaderAnswer, ReaderCall } from './query-messages.ts'

/**
 * What one call reads at most. The server reads, copies and sends it in one turn, 10 us for each item, and
 * calls of several threads may come in the same turn.
 */
const callItemsMax = 200
const callBytesMax = 512 * KiB

interface Awaited {
  readonly resolve: (answer: unknown) => void
  readonly reject: (error: Error) => void
}

export class ServerReads {
  readonly #port: MessagePort
  readonly #calls = new Map<number, Awaited>()
  #called = 0

  constructor(port: MessagePort) {
    this.#port = port
  }

  /** For one question. */
  reader(question: number): ContainerReader {
    const call = (name: ReaderCall['name'], ...args: readonly unknown[]) => this.#call(question, name, args) as never
    return {
      read: (key, at) => call('read', key, at),
      scan: (range, page) => call('scan', range, partOf(page)),
      scanIndex: (range, page) => call('scanIndex', range, partOf(page)),
      countEntries: range => call('countEntries', range),
      census: () => call('census'),
    }
  }

  /** For a pipeline. */
  host(question: number): StreamHost {
    const call = (name: ReaderCall['name'], ...args: readonly unknown[]) => this.#call(question, name, args) as never
    return {
      open: find => call('open', find),
      next: stream => call('next', stream),
      close: stream => call('close', stream),
      give: results => call('give', results),
    }
  }

  hear(message: ReaderAnswer): void {
    const awaited = this.#calls.get(message.call)
    this.#calls.delete(message.call)
    if ('over' in message) awaited?.reject(new Error('nobody waits for the page any more'))
    else awaited?.resolve(message.answer)
  }

  #call(reader: number, name: ReaderCall['name'], args: readonly unknown[]): Promise<unknown> {
    const call = ++this.#called
    return new Promise((resolve, reject) => {
      this.#calls.set(call, { resolve, reject })
      this.#port.postMessage({ reader, call, name, args } satisfies ReaderCall)
    })
  }
}

function partOf({ itemsMax, bytesMax }: PageSize): PageSize {
  return { itemsMax: Math.min(itemsMax, callItemsMax), bytesMax: Math.min(bytesMax, callBytesMax) }
}
