/**
 * Which running transaction has written which document, so that others do not write it meanwhile.
 *
 * Another transaction that wants to write the document fails at once. A write outside of transactions waits
 * until the transaction has ended. Both is as in MongoDB. Gateways that share a store do not know of each
 * other's intents; there the commit fails.
 */

import type { ItemKey } from '../../store/item.ts'
import { CommandError } from '../answers/command-error.ts'
import { nameOfKey } from './past-documents.ts'

/** A transaction, as far as its intents are concerned. */
export interface IntentHolder {
  /** Resolves when the transaction has ended. */
  readonly ended: Promise<void>
}

export class WriteIntents<Holder extends IntentHolder> {
  readonly #holders = new Map<string, Holder>()
  readonly #names = new Map<Holder, string[]>()

  get isEmpty(): boolean {
    return this.#holders.size === 0
  }

  /** The transactions that have written something. */
  get holders(): Iterable<Holder> {
    return this.#names.keys()
  }

  /** False: another transaction has written the document. */
  take(holder: Holder, container: number, key: ItemKey): boolean {
    const name = nameOf(container, key)
    const present = this.#holders.get(name)
    if (present !== undefined) return present === holder
    this.#holders.set(name, holder)
    const names = this.#names.get(holder)
    if (names === undefined) this.#names.set(holder, [name])
    else names.push(name)
    return true
  }

  release(holder: Holder): void {
    for (const name of this.#names.get(holder) ?? []) this.#holders.delete(name)
    this.#names.delete(holder)
  }

  /** Waits until no transaction has written any of these documents. The signal ends the wait. */
  async free(container: number, keys: readonly ItemKey[], signal: () => AbortSignal): Promise<void> {
    for (const key of keys) {
      const name = nameOf(container, key)
      for (let holder = this.#holders.get(name); holder !== undefined; holder = this.#holders.get(name)) {
        await endedOrAborted(holder.ended, signal())
      }
    }
  }
}

function endedOrAborted(ended: Promise<void>, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    signal.addEventListener('abort', stop, { once: true })
    ended.then(() => {
      signal.removeEventListener('abort', stop)
      resolve()
    })
  })
}

/** MongoDB's words. */
export function writeConflict(): CommandError {
  return new CommandError(
    'WriteConflict',
    'Caused by :: Write conflict during plan execution and yielding is disabled. :: Please retry your operation ' +
      'or multi-document transaction.',
  )
}

function nameOf(container: number, key: ItemKey): string {
  return `${container} ${nameOfKey(key)}`
}
