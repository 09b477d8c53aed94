/** The failure of a command: MongoDB's code, a message, and further fields of the answer. */

import { MongoError } from '../../mql/errors/mongo-error.ts'
import { type ErrorCodeName, errorCodes } from './error-codes.ts'
import type { Fields } from './fields.ts'

export type ErrorLabel =
  | 'RetryableWriteError'
  | 'TransientTransactionError'
  | 'UnknownTransactionCommitResult'
  | 'ResumableChangeStreamError'
  | 'NonResumableChangeStreamError'
  | 'RetryableError'
  | 'SystemOverloadedError'

interface ErrorExtras {
  /** In addition to those that follow from the code. */
  readonly labels?: readonly ErrorLabel[] | undefined
  /** Instead of those that follow from the code. */
  readonly onlyLabels?: readonly ErrorLabel[] | undefined
  readonly fields?: Fields
}

export class CommandError extends MongoError {
  readonly labels: readonly ErrorLabel[]
  /** Nothing is added to the labels because of the code. */
  readonly areLabelsFinal: boolean
  /** Further fields of the answer or of the write error: `keyPattern`, `keyValue`. */
  readonly fields: Fields

  constructor(
    code: ErrorCodeName | number,
    message: string,
    { labels = [], onlyLabels, fields = {} }: ErrorExtras = {},
  ) {
    super(typeof code === 'number' ? code : errorCodes[code], message)
    this.labels = onlyLabels ?? labels
    this.areLabelsFinal = onlyLabels !== undefined
    this.fields = fields
  }

  override prefixed(words: string): CommandError {
    return new CommandError(this.code, `${words}${this.message}`, this)
  }
}
