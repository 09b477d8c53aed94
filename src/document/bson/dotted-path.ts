/** The parts of dotted paths, in the form in which they are looked up in BSON bytes. */

export interface PathPart {
  /** In UTF-8. */
  readonly name: Uint8Array
  /** Whether the part may be the index of an array element. */
  readonly isNumber: boolean
}

export function pathParts(path: readonly string[]): readonly PathPart[] {
  return path.map(part => ({ name: Buffer.from(part), isNumber: isArrayIndex(part) }))
}

export function isArrayIndex(part: string): boolean {
  return /^\d+$/.test(part)
}
