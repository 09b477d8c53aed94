/** Which lines two texts have in common. */

/** Beyond this product of lines the table would be large: the middle of the texts counts as different. */
const cellsMax = 4_000_000

/** Pairs of equal lines, in order: the longest that go together. */
export function commonLines(a: readonly string[], b: readonly string[]): { a: number; b: number }[] {
  let start = 0
  while (start < a.length && start < b.length && a[start] === b[start]) start++
  let end = 0
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++
  const pairs = Array.from({ length: start }, (_, index) => ({ a: index, b: index }))
  pairs.push(...commonMiddle(a, b, start, end))
  for (let rest = end; rest > 0; rest--) pairs.push({ a: a.length - rest, b: b.length - rest })
  return pairs
}

/** The longest common subsequence of what lies between the equal beginning and the equal end. */
function commonMiddle(a: readonly string[], b: readonly string[], start: number, end: number) {
  const rows = a.length - start - end
  const columns = b.length - start - end
  const pairs: { a: number; b: number }[] = []
  if (rows === 0 || columns === 0 || rows * columns > cellsMax) return pairs
  const width = columns + 1
  const lengths = new Uint32Array((rows + 1) * width)
  for (let row = rows - 1; row >= 0; row--) {
    for (let column = columns - 1; column >= 0; column--) {
      lengths[row * width + column] =
        a[start + row] === b[start + column]
          ? lengths[(row + 1) * width + column + 1]! + 1
          : Math.max(lengths[(row + 1) * width + column]!, lengths[row * width + column + 1]!)
    }
  }
  for (let row = 0, column = 0; row < rows && column < columns; ) {
    if (a[start + row] === b[start + column]) pairs.push({ a: start + row++, b: start + column++ })
    else if (lengths[(row + 1) * width + column]! >= lengths[row * width + column + 1]!) row++
    else column++
  }
  return pairs
}

/** The lines of `next` that `before` does not have, by index from 0; and in how many places they differ. */
export function changedLines(before: string, next: string): { lines: number[]; places: number } {
  const a = before.split('\n')
  const b = next.split('\n')
  const pairs = [{ a: -1, b: -1 }, ...commonLines(a, b), { a: a.length, b: b.length }]
  const lines: number[] = []
  let places = 0
  for (let index = 1; index < pairs.length; index++) {
    const from = pairs[index - 1]!
    const to = pairs[index]!
    if (to.a - from.a > 1 || to.b - from.b > 1) places++
    for (let line = from.b + 1; line < to.b; line++) lines.push(line)
  }
  return { lines, places }
}
