/** Error kinds to the statuses of Mayfly's own HTTP APIs: the admin API and that of the explorer. */

import type { ErrorKind } from './error.ts'

export const httpStatuses = {
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
  position_gone: 410,
  precondition_failed: 412,
  too_large: 413,
  over_memory: 413,
  throttled: 429,
  internal: 500,
  unavailable: 503,
} satisfies Record<ErrorKind, number>
