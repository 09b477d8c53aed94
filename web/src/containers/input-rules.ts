/** Checks the fields of a form before it is sent: names, keys, times to live. The server checks again. */

import type { Api } from '../api/shapes.ts'
import { parseSpan } from '../time/time-text.ts'

export type TtlChoice = 'off' | 'no default' | 'on'

export const ttlSecondsMax = 2_147_483_647
export const ttlProblem = `Use 1 second to ${ttlSecondsMax} seconds, for instance 90, 15 m, 7 d.`
const idCharsMax = 255
const keyPathsMax = 3
export const uniqueKeysMax = 10
const uniqueKeyPathsMax = 16

/** The default ttl of a choice and its field, or the reason why they are not valid. */
export function readTtlField(choice: TtlChoice, text: string): { defaultTtl: number | null; problem?: string } {
  if (choice === 'off') return { defaultTtl: null }
  if (choice === 'no default') return { defaultTtl: -1 }
  const seconds = parseSpan(text)
  if (seconds === undefined || seconds < 1 || seconds > ttlSecondsMax) return { defaultTtl: null, problem: ttlProblem }
  return { defaultTtl: seconds }
}

/** Why a database or container cannot have this name. */
export function idProblem(id: string): string | undefined {
  if (id.trim() === '') return 'Give it a name.'
  if (id.length > idCharsMax) return `Use at most ${idCharsMax} characters.`
  if (/[/\\?#]/.test(id)) return 'A name cannot have / \\ ? or #.'
  // Browsers take them for a way through folders, so no address could name it.
  if (id === '.' || id === '..') return 'A name cannot be . or ..'
  if (id.endsWith(' ')) return 'A name cannot end with a space.'
  return undefined
}

/** `/tenant, /user` as paths. */
export function pathsIn(text: string): string[] {
  return text
    .split(',')
    .map(part => part.trim())
    .filter(Boolean)
}

const areNoPaths = 'A path begins with /, for instance /userId.'
const arePaths = (paths: readonly string[]) => paths.every(path => /^(\/[^/]+)+$/.test(path))

export function keyProblem(api: Api, text: string): string | undefined {
  const paths = pathsIn(text)
  if (api === 'mongo') {
    return paths.some(path => path.startsWith('$')) ? 'A field name cannot begin with $.' : undefined
  }
  if (paths.length === 0) return 'Give the path of the partition key, for instance /userId.'
  if (paths.length > keyPathsMax) return `Use at most ${keyPathsMax} paths.`
  return arePaths(paths) ? undefined : areNoPaths
}

/** Why these paths are no unique key. */
export function uniqueKeyProblem(text: string): string | undefined {
  const paths = pathsIn(text)
  if (paths.length === 0) return 'Give a path, for instance /email, or remove the key.'
  if (paths.length > uniqueKeyPathsMax) return `Use at most ${uniqueKeyPathsMax} paths.`
  return arePaths(paths) ? undefined : areNoPaths
}
