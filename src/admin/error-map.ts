/** Translates errors to the statuses and bodies of the admin API. */

import { MayflyError } from '../base/error.ts'
import { httpStatuses } from '../base/http-status.ts'
import { QueryError } from '../sql/syntax/diagnostic.ts'

/** The calls have no conditions in headers: what fails is the state of the server, such as its clock. */
const statuses = { ...httpStatuses, precondition_failed: 409 }

export function publicError(error: unknown): { status: number; code: string; message: string } {
  if (!(error instanceof MayflyError) || error.kind === 'internal') {
    return { status: 500, code: 'internal', message: 'The server failed; its log says why.' }
  }
  const message = error instanceof QueryError ? error.sentence : error.message
  return { status: statuses[error.kind], code: error.kind, message }
}
