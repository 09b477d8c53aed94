/** Splits paths into documents into their parts. */

export interface PathPart {
  /** In UTF-8. */
  readonly name: Uint8Array
  /** The part may mean an array element. */
  readonly isNumber: boolean
}

export function pathParts(path: readonly string[]): readonly PathPart[] {
  return path.map(part => ({ name: Buffer.from(part), isNumber: isArrayIndex(part) }))
}

export function isArrayIndex(part: string): boolean {
  return /^\d+$/.test(part)
}
