/** The failure of a command: MongoDB's code, a message, and further fields of the answer. */

import { MongoError } from '../../mql/errors/mongo-error.ts'
import { type ErrorCodeName, errorCodes } from './error-codes.ts'
import type { Fields } from './fields.ts'

export type ErrorLabel =
  | 'RetryableWriteError'
  | 'TransientTransactionError'
  | 'UnknownTransactionCommitResult'
  | 'ResumableChangeStreamError'
  | 'RetryableError'
  | 'SystemOverloadedError'

export class CommandError extends MongoError {
  readonly labels: readonly ErrorLabel[]
  /** Further fields of the answer or of the write error: `keyPattern`, `keyValue`. */
  readonly fields: Fields

  constructor(
    code: ErrorCodeName | number,
    message: string,
    { labels = [], fields = {} }: { readonly labels?: readonly ErrorLabel[]; readonly fields?: Fields } = {},
  ) {
    super(typeof code === 'number' ? code : errorCodes[code], message)
    this.labels = labels
    this.fields = fields
  }
}
