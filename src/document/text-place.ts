/** Line and column of an offset in a text, for people. */

export interface TextPlace {
  /** From 1. */
  readonly line: number
  readonly column: number
}

export function placeIn(text: string, offset: number): TextPlace {
  let line = 1
  let start = 0
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) {
    line++
    start = at + 1
  }
  return { line, column: offset - start + 1 }
}
