/** Lists the assigned characters of Unicode. The weights of a collation are derived from their order. */

const surrogates = [0xd800, 0xdfff] as const
/** Syllables decompose into letters, which have the weights. */
const hangul = [0xac00, 0xd7a3] as const
/** No character is assigned in this range of planes. */
const planeGap = [0x34000, 0xdffff] as const
const lastAssigned = 0xe01ef

const isUnassigned = /[\p{Cn}\p{Co}\p{Cs}]/u

let known: readonly string[] | undefined

/** All assigned characters except Hangul syllables. Yields now and then; the first call takes 30 ms. */
export function* assignedCharacters(): Generator<void, readonly string[]> {
  if (known !== undefined) return known
  const found: string[] = []
  for (let code = 0; code <= lastAssigned; code += 1) {
    for (const [first, last] of [surrogates, hangul, planeGap]) if (code === first) code = last + 1
    const text = String.fromCodePoint(code)
    if (!isUnassigned.test(text)) found.push(text)
    if (code % 4096 === 0) yield
  }
  known = found
  return found
}

export function isAssigned(character: string): boolean {
  return !isUnassigned.test(character)
}
