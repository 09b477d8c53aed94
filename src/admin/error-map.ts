/** Error kinds to the statuses of the admin API. */

import { type ErrorKind, MayflyError } from '../base/error.ts'

const statuses = {
  malformed: 400,
  syntax: 400,
  unsupported: 400,
  partition_key_mismatch: 400,
  unauthenticated: 401,
  forbidden: 403,
  not_found: 404,
  namespace_not_found: 404,
  method_not_allowed: 405,
  timed_out: 408,
  already_exists: 409,
  precondition_failed: 409,
  position_gone: 410,
  too_large: 413,
  over_memory: 413,
  throttled: 429,
  internal: 500,
  unavailable: 503,
} satisfies Record<ErrorKind, number>

export function publicError(error: unknown): { status: number; code: string; message: string } {
  if (!(error instanceof MayflyError) || error.kind === 'internal') {
    return { status: 500, code: 'internal', message: 'The server failed; its log says why.' }
  }
  return { status: statuses[error.kind], code: error.kind, message: error.message }
}
