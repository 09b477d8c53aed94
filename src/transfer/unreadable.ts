/** Makes the error for a file that cannot be read, with the reason. */

import { RequestError } from '../base/error.ts'

export function unreadable(path: string, error: unknown): RequestError {
  const { code, message } = error as NodeJS.ErrnoException
  const text = code === 'ENOENT' ? `${path} is not there.` : `${path} cannot be read: ${message}.`
  return new RequestError('not_found', text, { cause: error })
}
