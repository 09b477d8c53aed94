/** Collects the body of a request, up to the limit. */

import type { Readable } from 'node:stream'
import { RequestError } from '../../base/error.ts'
import { requestBytesMax } from '../../base/limits.ts'

export const noBody = Buffer.alloc(0)

/**
 * Waits for the whole body. Most bodies arrive in one chunk, which is used as it is. (`for await` costs 8 us
 * more.)
 *
 * A body that is too large is refused at once. The rest of it is read and dropped: if the connection were
 * closed while the client still sends, the client would not see the answer.
 */
export function collectBody(req: Readable, done: (body: Buffer) => void, fail: (error: unknown) => void): void {
  let first: Buffer | undefined
  let more: Buffer[] | undefined
  let bytes = 0
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > requestBytesMax) {
      if (bytes - chunk.length <= requestBytesMax) fail(new RequestError('too_large', 'Request size is too large'))
      first = more = undefined
    } else if (first === undefined) {
      first = chunk
    } else {
      more ??= [first]
      more.push(chunk)
    }
  })
  req.on('end', () => {
    if (bytes <= requestBytesMax) done(more !== undefined ? Buffer.concat(more, bytes) : (first ?? noBody))
  })
}
