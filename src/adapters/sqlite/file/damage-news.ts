/**
 * Tells the store about damage that a query thread of the process has met in the data file. Query threads
 * only read; the store must stop writing.
 */

import { resolve } from 'node:path'
import { BroadcastChannel } from 'node:worker_threads'
import { isDamage, withCode } from './errors.ts'

function channelOf(directory: string): BroadcastChannel {
  return new BroadcastChannel(`mayfly-damage ${resolve(directory)}`)
}

/** Does nothing unless the error is damage. */
export function tellDamage(directory: string, error: unknown): void {
  if (!isDamage(error)) return
  const channel = channelOf(directory)
  channel.postMessage((error as { errcode: number }).errcode)
  channel.close()
}

/** Does not keep the process alive. */
export function hearDamage(directory: string, onDamage: (error: Error) => void): Disposable {
  const channel = channelOf(directory)
  channel.onmessage = ({ data }: { data: number }) => {
    onDamage(withCode('A query met a damaged page.', data))
  }
  channel.unref()
  return { [Symbol.dispose]: () => channel.close() }
}
