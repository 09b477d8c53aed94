/** One call of the API, as its handler sees it, and how a handler answers. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { machine } from '../../base/clock.ts'
import { CapacityError, RequestError } from '../../base/error.ts'
import { KiB, MiB, requestBytesMax } from '../../base/limits.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import { inSlices } from '../../base/slices.ts'
import { parseJsonInSteps } from '../../document/json-value.ts'
import type { Visitor } from '../access/guard.ts'
import type { ExplorerService } from '../service/service.ts'

/** A Mongo document of 16 MB may be three times as long as extended JSON. */
export const documentTextBytesMax = 48 * MiB
export const bodyBytesMax = requestBytesMax + 256 * KiB
const bodyMsMax = 30_000

export interface ApiCall {
  readonly req: IncomingMessage
  readonly res: ServerResponse
  readonly method: string
  /** The decoded parts of the path that the route leaves open. */
  readonly names: readonly string[]
  readonly query: URLSearchParams
  readonly caller: Visitor
  /** Aborted when the client has gone. */
  readonly gone: AbortSignal
  /** The body as one JSON object. */
  body(bytesMax?: number): Promise<Readonly<Record<string, unknown>>>
}

interface AnswerHead {
  readonly status?: number
  readonly headers?: Readonly<Record<string, string>>
  /** Nothing was changed, so it may be refused if there is no memory for it. */
  readonly isRead?: boolean
}

/** `streamed`: the handler wrote to `res` itself. */
export type ApiAnswer = (AnswerHead & { readonly json: unknown }) | (AnswerHead & { readonly status: 204 }) | 'streamed'

export type ApiHandler = (service: ExplorerService, call: ApiCall) => Promise<ApiAnswer>

export async function readJson(
  req: IncomingMessage,
  memory: MemoryAccount,
  bytesMax: number,
): Promise<Readonly<Record<string, unknown>>> {
  const type = req.headers['content-type'] ?? ''
  if (!/^application\/json\s*(;|$)/i.test(type)) {
    throw new RequestError('malformed', 'The body must be JSON: content-type: application/json.')
  }
  const bytes = await collect(req, memory, bytesMax)
  let value: unknown
  try {
    value = await inSlices(parseJsonInSteps(bytes.toString('utf8')))
  } catch (error) {
    throw new RequestError('malformed', 'The body is not JSON.', { cause: error })
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new RequestError('malformed', 'The body is one JSON object.')
  }
  return value as Readonly<Record<string, unknown>>
}

function collect(req: IncomingMessage, memory: MemoryAccount, bytesMax: number): Promise<Buffer> {
  const most = bytesMax < MiB ? `${bytesMax / KiB} KB` : `${Math.floor(bytesMax / 1e5) / 10} MB`
  const tooLarge = () => new RequestError('too_large', `The body has more than ${most}.`)
  memory.checkRoom()
  if (Number(req.headers['content-length'] ?? 0) > bytesMax) return Promise.reject(tooLarge())
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let bytes = 0
    const lease = memory.shareOf(req.socket).hold('bodies')
    const end = (settle: () => void) => {
      machine.clearTimeout(deadline)
      lease[Symbol.dispose]()
      req.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose)
      settle()
    }
    const onData = (chunk: Buffer) => {
      bytes += chunk.length
      const refusal = bytes > bytesMax ? tooLarge() : lease.tryAdd(chunk.length)
      if (refusal !== undefined) end(() => reject(refusal))
      else chunks.push(chunk)
    }
    const onEnd = () => end(() => resolve(Buffer.concat(chunks)))
    const onClose = () => end(() => reject(new RequestError('malformed', 'The body did not arrive whole.')))
    const slow = () => new CapacityError('timed_out', `The body did not arrive within ${bodyMsMax / 1000} s.`, 0)
    const deadline = machine.setTimeout(() => end(() => reject(slow())), bodyMsMax).unref()
    req.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
  })
}
