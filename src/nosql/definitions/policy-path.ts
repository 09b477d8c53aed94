/**
 * The paths in policies: `/a/b/?`, `/a/*`, `/items/[]/price/?`, `/"a-b"/c`.
 *
 * A scalar path ends in `?`, a subtree in `*`, and `[]` stands for every element of an array. A name with
 * other characters than letters, digits and `_` needs quotes (azure-cosmos-dotnet-v2 #184: hyphens are
 * refused).
 */

import { malformed } from './definition-input.ts'

/** The service's limit for the paths in one list of a container definition (its page on limits). */
export const indexPathsMax = 1500

export interface PolicyPath {
  /** The property names. An array step is `arrayStep`, which equals no property name. */
  readonly steps: readonly (string | typeof arrayStep)[]
  readonly end: '' | '?' | '*'
}

export const arrayStep: unique symbol = Symbol('[]')

/** The parsed path, or the position of the first error. */
export function scanPolicyPath(path: string): PolicyPath | number {
  const steps: (string | typeof arrayStep)[] = []
  let at = 0
  while (at < path.length) {
    if (path[at] !== '/') return at
    at++
    const first = path[at]
    if (first === '?' || first === '*') return at + 1 === path.length ? { steps, end: first } : at + 1
    if (first === '"' || first === "'") {
      const close = closingQuote(path, at)
      if (close === -1) return at
      steps.push(path.slice(at + 1, close))
      at = close + 1
    } else if (path.startsWith('[]', at)) {
      steps.push(arrayStep)
      at += 2
    } else {
      const start = at
      while (at < path.length && isNameCharacter(path.charCodeAt(at))) at++
      if (at === start) return at
      steps.push(path.slice(start, at))
    }
  }
  return steps.length === 0 ? 0 : { steps, end: '' }
}

/** The position of the first quote that no backslash precedes, as in partition key paths. */
function closingQuote(path: string, open: number): number {
  const delimiter = path[open]!
  let close = path.indexOf(delimiter, open + 1)
  while (close !== -1 && path[close - 1] === '\\') close = path.indexOf(delimiter, close + 1)
  return close
}

function isNameCharacter(code: number): boolean {
  if (code >= 0x80) return true
  if (code >= 0x30 && code <= 0x39) return true // 0-9
  if (code >= 0x41 && code <= 0x5a) return true // A-Z
  if (code >= 0x61 && code <= 0x7a) return true // a-z
  return code === 0x5f // _
}

/**
 * Parses a path of an index, which ends in `?` or `*`. Text: IdentityServer4.Contrib.CosmosDB #4, a trace of
 * the service.
 */
export function parseIndexPolicyPath(path: string): PolicyPath {
  const parsed = scanPolicyPath(path)
  if (typeof parsed === 'number') refuseIndexPath(path, parsed)
  if (parsed.end === '') refuseIndexPath(path, path.length)
  if (parsed.end === '?' && parsed.steps.length === 0) {
    // INFERRED (not documented) from "has at least" (azure-cosmos-dotnet-v3,
    // QueryTests.TestCreateIndexingPaths1).
    malformed(
      `The indexing path '${path}' could not be accepted, failed near position '1'. Please ensure that the path ` +
        'has at least one label.',
    )
  }
  return parsed
}

export function refuseIndexPath(path: string, at: number): never {
  malformed(
    `The indexing path '${path}' could not be accepted, failed near position '${at}'. Please ensure that the ` +
      'path is a valid path. Common errors include invalid characters or absence of quotes around labels.',
  )
}

/** Whether the path names one property: no wildcard, no array. */
export function isPropertyPath(path: string): boolean {
  const parsed = scanPolicyPath(path)
  return typeof parsed !== 'number' && parsed.end === '' && !parsed.steps.includes(arrayStep)
}

/** One spelling for all forms of a path, quoted or not. */
export function canonicalPath(path: PolicyPath): string {
  const steps = path.steps.map(step => (step === arrayStep ? '[]' : JSON.stringify(step)))
  return `/${[...steps, path.end].join('/')}`
}
