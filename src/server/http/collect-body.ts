/**
 * Collects the body of a request: up to the limit, until the deadline, and on the account of held memory.
 */

import type { IncomingHttpHeaders } from 'node:http'
import type { Readable } from 'node:stream'
import { machine } from '../../base/clock.ts'
import { CapacityError, RequestError } from '../../base/error.ts'
import { requestBytesMax } from '../../base/limits.ts'
import type { MemoryShare } from '../../base/memory-account.ts'
import { ArrivingBody } from './arriving-body.ts'
import type { WatchedChunks } from './chunk-sizes.ts'

/** A request of node:http or node:http2. */
export type Incoming = Readable & {
  readonly complete: boolean
  readonly aborted: boolean
  readonly headers: IncomingHttpHeaders
}

export const noBody = Buffer.alloc(0)

/** A request that is not complete by then is refused. */
export const requestMsMax = 30_000

/** How long the rest of a refused body is read and dropped, so that its client can read the refusal. */
export const lingerMs = 2000

export const tooLarge = () => new RequestError('too_large', 'Request size is too large')

export const tooSlow = () =>
  new CapacityError('timed_out', `The body of the request did not arrive within ${requestMsMax / 1000} s.`, 0)

/** Whether the client has said that it will send more than any request may have. */
export function announcesTooMuch(contentLength: string | undefined): boolean {
  return contentLength !== undefined && Number(contentLength) > requestBytesMax
}

/**
 * Waits for the whole body. Most bodies arrive in one chunk, which is used as it is. (`for await` costs 8 us
 * more.)
 */
export function collectBody(
  req: Incoming,
  share: MemoryShare,
  { msMax, chunks }: { readonly msMax: number; readonly chunks?: WatchedChunks | undefined },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined
    let arriving: ArrivingBody | undefined
    let bytes = 0
    const deadline = machine.setTimeout(() => end(() => reject(tooSlow())), msMax).unref()
    const end = (settle: () => void) => {
      machine.clearTimeout(deadline)
      arriving?.[Symbol.dispose]()
      req.off('data', onData).off('end', onEnd).off('close', onClose)
      settle()
    }
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      if (bytes > requestBytesMax) {
        end(() => reject(tooLarge()))
        return
      }
      if (first === undefined) {
        first = chunk
        return
      }
      try {
        if (arriving === undefined) {
          arriving = new ArrivingBody(share, lengthOf(req))
          arriving.add(first)
        }
        arriving.add(chunk)
      } catch (error) {
        end(() => reject(error))
      }
    }
    const onEnd = () => {
      // A reset of HTTP/2 ends the body as well, perhaps in the middle.
      if (req.aborted) onClose()
      else end(() => resolve(arriving?.bytes ?? first ?? noBody))
    }
    // Nobody waits for an answer any more.
    const onClose = () => end(() => {})
    req.on('data', onData).on('end', onEnd).on('close', onClose)
    const refuse = () => end(() => reject(tooLarge()))
    if (chunks === undefined) return
    // Such a chunk may have come before the body was asked for.
    if (chunks.isTooLong) refuse()
    else chunks.onTooLong = refuse
  })
}

function lengthOf({ headers }: Incoming): number | undefined {
  const length = Number(headers['content-length'])
  return Number.isInteger(length) ? length : undefined
}

/** Reads and drops what is left of a refused body. After a while the connection is closed. */
export function dropBody(req: Incoming, close: () => void): void {
  if (req.complete || req.destroyed) return
  const limit = machine.setTimeout(close, lingerMs).unref()
  const end = () => machine.clearTimeout(limit)
  req.once('end', end).once('close', end).resume()
}
