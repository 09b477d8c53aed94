/** Parses the policy for conflicting writes of regions. Stored and returned only: there is one region. */

import { fieldOf, malformed, readObject, readString, readWord } from './definition-input.ts'
import { isPropertyPath } from './policy-path.ts'

export interface ConflictResolutionPolicy {
  mode: 'LastWriterWins' | 'Custom'
  conflictResolutionPath: string
  conflictResolutionProcedure: string
}

const defaultPath = '/_ts'

export function parseConflictResolutionPolicy(input: unknown): ConflictResolutionPolicy {
  const policy = input === undefined ? {} : readObject(input, 'conflictResolutionPolicy')
  const mode = readWord(fieldOf(policy, 'mode') ?? 'LastWriterWins', 'conflictResolutionPolicy.mode', [
    'LastWriterWins',
    'Custom',
  ])
  const textAt = (name: string) => readString(fieldOf(policy, name) ?? '', `conflictResolutionPolicy.${name}`)
  const path = textAt('conflictResolutionPath')
  const procedure = textAt('conflictResolutionProcedure')

  // INFERRED texts (the service does not document them). That each mode has its own field is documented with
  // the SDKs' types.
  if (mode === 'Custom') {
    if (path !== '')
      malformed("'conflictResolutionPath' cannot be specified when the conflict resolution mode is 'Custom'.")
    return { mode, conflictResolutionPath: '', conflictResolutionProcedure: procedure }
  }
  if (procedure !== '') {
    malformed(
      "'conflictResolutionProcedure' cannot be specified when the conflict resolution mode is 'LastWriterWins'.",
    )
  }
  const conflictResolutionPath = path === '' ? defaultPath : path
  if (!isPropertyPath(conflictResolutionPath)) malformed(`The conflict resolution path '${path}' is invalid.`)
  return { mode, conflictResolutionPath, conflictResolutionProcedure: '' }
}
