/** The unique keys of a container. As in the service, they cannot be changed later. */

import { fieldOf, malformed, readArray, readObject, readString } from './definition-input.ts'
import { arrayStep, scanPolicyPath } from './policy-path.ts'

/** The service's limits (its page on unique keys). */
const uniqueKeysMax = 10
const uniqueKeyPathsMax = 16

export interface UniqueKeyPolicy {
  uniqueKeys: { paths: string[] }[]
}

export function parseUniqueKeyPolicy(input: unknown): UniqueKeyPolicy {
  const list = fieldOf(readObject(input, 'uniqueKeyPolicy'), 'uniqueKeys') ?? []
  const where = 'uniqueKeyPolicy.uniqueKeys'
  const uniqueKeys = readArray(list, where, uniqueKeysMax).map((element, at) => {
    const pathsInput = fieldOf(readObject(element, `${where}[${at}]`), 'paths')
    const paths = readArray(pathsInput, `${where}[${at}].paths`, uniqueKeyPathsMax).map(each => {
      const path = readString(each, `${where}[${at}].paths`)
      const failedAt = failurePosition(path)
      if (failedAt !== undefined) {
        // From a trace of the service (azure-docs #13090).
        malformed(
          `Error parsing the unique key path '${path}' at position ${failedAt}. Make sure the unique key path ` +
            'does not contain wildcards and invalid characters.',
        )
      }
      return path
    })
    // INFERRED: the service does not document this text.
    if (paths.length === 0) malformed('The unique key must specify at least one path.')
    return { paths }
  })
  return { uniqueKeys }
}

function failurePosition(path: string): number | undefined {
  const parsed = scanPolicyPath(path)
  if (typeof parsed === 'number') return parsed
  if (parsed.end !== '') return path.length - 1
  return parsed.steps.includes(arrayStep) ? path.indexOf('[]') : undefined
}

/** No policy equals an empty one. The order of keys and of their paths does not matter. */
export function isSameUniqueKeyPolicy(a: UniqueKeyPolicy | undefined, b: UniqueKeyPolicy | undefined): boolean {
  const textOf = (policy: UniqueKeyPolicy | undefined) =>
    JSON.stringify((policy?.uniqueKeys ?? []).map(({ paths }) => JSON.stringify(paths.toSorted())).toSorted())
  return textOf(a) === textOf(b)
}
