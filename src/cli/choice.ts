/** Checks the value of a flag that must be one of a few words. */

import { RequestError } from '../base/error.ts'

export function choice<T extends string>(given: string, choices: readonly T[], flag: string): T {
  const found = choices.find(each => each === given)
  if (found === undefined) throw new RequestError('malformed', `${flag} takes ${choices.join(', ')}, not '${given}'.`)
  return found
}
