/**
 * The weights of characters in a collation, for sort keys.
 *
 * JavaScript compares texts by a collation (Intl.Collator), but has no sort keys. So weights are found by
 * comparing texts. In the algorithm of Unicode (UTS 10) a text is a list of elements: letters, each with a
 * primary weight, and marks without one. Texts are compared by all their primary weights, then by all
 * secondary ones, then by all tertiary ones.
 *
 *   table      all characters in the order of the collation. Neighbours that are equal at the first level
 *              form a class; the classes are the primary weights. A letter of several elements (like œ) makes
 *              no class, because its first element is another character.
 *   a text     its first element is the highest class that is not above the text. The second element is the
 *              highest class that, put behind the first, is not above the text; and so on, until the result
 *              equals the text. Marks are found in the same way at the second level, and the variant of each
 *              element at the third.
 *   a gap      some elements belong to no single character, like the mark in œ. Their weight lies between two
 *              known weights. The position of the whole text in the table orders texts within the gap.
 *
 * The combining grapheme joiner (`joiner`) has no weight. Characters before and behind it do not contract.
 */

import { isAssigned } from './code-points.ts'

export type CompareText = (left: string, right: string) => number

/** Comparisons of texts. Each looks at one level and all levels before it. */
export interface Levels {
  readonly primary: CompareText
  readonly secondary: CompareText
  readonly tertiary: CompareText
  readonly caseLevel: CompareText
}

/**
 * The weights of a text: a byte string for each level, and for the secondary level a list of them, which can
 * be reversed. The weights of texts that do not interact are concatenated.
 */
export interface Weights {
  readonly primary: string
  readonly secondary: readonly string[]
  readonly tertiary: string
  readonly caseLevel: string
}

/** Thrown for a text whose weights cannot be found. */
export class NoWeights extends Error {}

export const joiner = '\u034f'
/** It has the highest primary weight. */
const highest = '\uffff'

/** Longest list of elements of one text. No character has more than 18. */
const elementsMax = 64

/** The lowest byte of a weight. Lower bytes separate levels. */
const firstByte = 3

export class WeightTable {
  readonly #levels: Levels
  readonly #all: readonly string[]
  /** The beginning and the end of each class within `#all`. */
  #starts = new Int32Array()
  #ends = new Int32Array()
  /** By secondary weight: the marks, each with its variants in tertiary order. */
  readonly #marks: string[][] = []
  #highestMarks = ''
  readonly #lettersOfClass = new Map<number, readonly (readonly string[])[]>()
  readonly #casesOfClass = new Map<number, readonly string[]>()

  private constructor(levels: Levels, all: readonly string[]) {
    this.#levels = levels
    this.#all = all
  }

  /** Yields now and then. It takes less time if the characters are nearly in order. */
  static *build(levels: Levels, characters: readonly string[]): Generator<void, WeightTable> {
    const all = yield* sorted([...characters, ...contractions(levels)], levels.tertiary)
    const table = new WeightTable(levels, all)
    yield* table.#findMarks()
    yield* table.#findClasses()
    return table
  }

  *#findMarks(): Generator<void, void> {
    const { primary, secondary, tertiary } = this.#levels
    for (const [index, character] of this.#all.entries()) {
      if (primary(character, '') !== 0) break
      if (index % 1024 === 0) yield
      if (secondary(character, '') === 0) continue
      const last = this.#marks.at(-1)
      if (last === undefined) this.#marks.push([character])
      else if (secondary(character, last[0]!) === 0) addVariant(last, character, tertiary)
      // Forms of several marks, as in Arabic ligatures, are no marks of their own.
      else if (character.normalize('NFKD').length === character.length) this.#marks.push([character])
    }
    this.#highestMarks = this.#marks.at(-1)![0]!.repeat(4)
  }

  *#findClasses(): Generator<void, void> {
    const { primary } = this.#levels
    const starts: number[] = []
    const ends: number[] = []
    let first = ''
    for (const [index, character] of this.#all.entries()) {
      if (index % 2048 === 0) yield
      if (first === '') {
        if (primary(character, '') === 0) continue
      } else {
        if (primary(character, first) === 0) {
          ends[ends.length - 1] = index + 1
          continue
        }
        if (primary(character, first + highest) < 0) continue
      }
      first = character
      starts.push(index)
      ends.push(index + 1)
    }
    this.#starts = Int32Array.from(starts)
    this.#ends = Int32Array.from(ends)
  }

  /** All characters, in order. */
  get characters(): readonly string[] {
    return this.#all
  }

  /** The class of a text that is one element with a primary weight. */
  classOf(text: string): number {
    return lastNotAbove(this.#starts.length, at => this.#levels.primary(this.#lowest(at), text))
  }

  weightsOf(text: string): Weights {
    const classes = this.#classesOf(text)
    if (typeof classes === 'string') return this.#weightsOfGap(text, classes)
    const found = this.#secondaryOf(text, classes)
    const primary = classes.map(at => primaryWeight(at, 'class')).join('')
    return {
      primary,
      secondary: found.codes,
      tertiary: this.#tertiaryOf(text, found.elements),
      caseLevel: this.#caseLevelOf(text, classes),
    }
  }

  #lowest(at: number): string {
    return this.#all[this.#starts[at]!]!
  }

  /** The classes of the text's elements. A string is the primary weight of a text with a gap. */
  #classesOf(text: string): readonly number[] | string {
    const { primary } = this.#levels
    const classes: number[] = []
    let before = ''
    while (primary(before, text) !== 0) {
      if (classes.length > elementsMax) throw new NoWeights()
      const at = lastNotAbove(this.#starts.length, each => primary(before + this.#lowest(each), text))
      if (at === -1) throw new NoWeights()
      const next = before + this.#lowest(at)
      if (primary(next + highest, text) <= 0) {
        const known = classes.map(each => primaryWeight(each, 'class')).join('')
        return known + primaryWeight(at, 'gap') + this.#position(text, primary)
      }
      classes.push(at)
      before = next + joiner
    }
    return classes
  }

  #weightsOfGap(text: string, primary: string): Weights {
    const { secondary, tertiary, caseLevel } = this.#levels
    return {
      primary,
      secondary: [letterWeight(1) + this.#position(text, secondary)],
      tertiary: variantWeight(1) + this.#position(text, tertiary),
      caseLevel: variantWeight(1) + this.#position(text, caseLevel),
    }
  }

  /**
   * The position in the table of the first character that is equal to the text at this level. An unassigned
   * character is not in the table: it comes after all others, by its code point.
   */
  #position(text: string, compare: CompareText): string {
    const [character, another] = text
    if (character !== undefined && another === undefined && !isAssigned(character)) {
      return number(0x40000 + character.codePointAt(0)!)
    }
    const { tertiary } = this.#levels
    let at = lastNotAbove(this.#all.length, each => tertiary(this.#all[each]!, text))
    if (at === -1 || tertiary(this.#all[at]!, text) !== 0) throw new NoWeights()
    while (at > 0 && compare(this.#all[at - 1]!, text) === 0) at -= 1
    return number(at)
  }

  #secondaryOf(text: string, classes: readonly number[]): { codes: string[]; elements: (readonly string[])[] } {
    const { secondary } = this.#levels
    const codes: string[] = []
    const elements: (readonly string[])[] = []
    let before = ''
    let letters = 0
    const behind = () =>
      joiner +
      classes
        .slice(letters)
        .map(at => this.#lowest(at))
        .join(joiner)
    while (letters < classes.length || secondary(before, text) !== 0) {
      if (codes.length > elementsMax) throw new NoWeights()
      // Marks have higher weights than letters.
      const rest = behind()
      const isMark = secondary(text, before + this.#marks[0]![0]! + rest) >= 0
      if (!isMark && letters === classes.length) throw new NoWeights()
      if (!isMark) letters += 1
      const choices = isMark ? this.#marks : this.#letters(classes[letters - 1]!)
      const after = isMark ? rest : behind()
      const at =
        choices.length === 1
          ? 0
          : Math.max(
              0,
              lastNotAbove(choices.length, each => secondary(before + choices[each]![0]! + after, text)),
            )
      before += choices[at]![0]! + joiner
      elements.push(choices[at]!)
      const weigh = isMark ? markWeight : letterWeight
      if (secondary(before + this.#highestMarks + after, text) < 0) {
        codes.push(weigh(2 * at + 1) + this.#position(text, secondary))
        return { codes, elements: [] }
      }
      codes.push(weigh(2 * at))
    }
    return { codes, elements }
  }

  #tertiaryOf(text: string, elements: readonly (readonly string[])[]): string {
    const { secondary, tertiary } = this.#levels
    if (elements.length === 0) {
      if (tertiary(text, '') === 0) return ''
      // A text without letters and marks is above every variant of a letter or mark.
      const weight = secondary(text, '') === 0 ? aboveVariants : variantWeight(1)
      return weight + this.#position(text, tertiary)
    }
    return this.#variantsOf(text, elements, tertiary)
  }

  #caseLevelOf(text: string, classes: readonly number[]): string {
    const elements = classes.map(at => this.#cases(at))
    return this.#variantsOf(text, elements, this.#levels.caseLevel)
  }

  /** Which variant each element of a text is, at a level where the levels before are equal. */
  #variantsOf(text: string, elements: readonly (readonly string[])[], compare: CompareText): string {
    let before = ''
    let weights = ''
    for (const [index, variants] of elements.entries()) {
      const others = elements.slice(index + 1)
      const lowest = joiner + others.map(each => each[0]!).join(joiner)
      const at =
        variants.length === 1
          ? 0
          : Math.max(
              0,
              lastNotAbove(variants.length, each => compare(before + variants[each]! + lowest, text)),
            )
      before += variants[at]! + joiner
      if (compare(before + others.map(each => each.at(-1)!).join(joiner), text) < 0) {
        return weights + variantWeight(2 * at + 1) + this.#position(text, compare)
      }
      weights += variantWeight(2 * at)
    }
    if (compare(before, text) !== 0) return weights + variantWeight(1) + this.#position(text, compare)
    return weights
  }

  /** The letters of a class that are one element, by secondary weight, each with its variants. */
  #letters(at: number): readonly (readonly string[])[] {
    const known = this.#lettersOfClass.get(at)
    if (known !== undefined) return known
    const { secondary, tertiary } = this.#levels
    const letters: string[][] = []
    for (const character of this.#all.slice(this.#starts[at]!, this.#ends[at]!)) {
      const last = letters.at(-1)
      if (last === undefined) letters.push([character])
      else if (secondary(character, last[0]!) === 0) addVariant(last, character, tertiary)
      else if (secondary(character, last[0]! + this.#highestMarks) > 0) letters.push([character])
    }
    this.#lettersOfClass.set(at, letters)
    return letters
  }

  #cases(at: number): readonly string[] {
    const known = this.#casesOfClass.get(at)
    if (known !== undefined) return known
    const { caseLevel } = this.#levels
    const cases: string[] = []
    for (const character of this.#all.slice(this.#starts[at]!, this.#ends[at]!).sort(caseLevel)) {
      addVariant(cases, character, caseLevel)
    }
    this.#casesOfClass.set(at, cases)
    return cases
  }
}

function addVariant(variants: string[], character: string, compare: CompareText): void {
  if (variants.length === 0 || compare(variants.at(-1)!, character) !== 0) variants.push(character)
}

/**
 * The last index for which `compare` is not positive, or -1. What `compare` returns must grow with the index.
 */
function lastNotAbove(count: number, compare: (index: number) => number): number {
  let low = -1
  let high = count - 1
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (compare(middle) <= 0) low = middle
    else high = middle - 1
  }
  return low
}

const latinLetters = [...'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ']
/** From À to ſ. */
const accentedLetters = within([0xc0, 0x17f])

/** Vowels that are written before a consonant and sorted after it: Thai, Lao, New Tai Lue, Tai Viet. */
const earlyVowels = [...'เแโใไເແໂໃໄᦵᦶᦷᦺꪵꪶꪹꪻꪼ']
const consonants = within([0x0e01, 0x0e2e], [0x0e81, 0x0edf], [0x1980, 0x19ab], [0xaa80, 0xaaaf])
const kana = within([0x3041, 0x3096], [0x30a1, 0x30fa], [0x31f0, 0x31ff])
/** In Japanese they repeat the vowel or the syllable before them. */
const kanaMarks = [...'ーゝヽゞヾ']

function within(...ranges: readonly (readonly [first: number, last: number])[]): readonly string[] {
  return ranges.flatMap(([first, last]) => {
    return Array.from({ length: last - first + 1 }, (_, index) => String.fromCharCode(first + index))
  })
}

/**
 * Groups of letters that are sorted as one letter, such as `ch` in Czech, or in another order than written.
 * Longer groups begin or end with shorter ones, such as `ddzs` in Hungarian.
 */
function contractions({ tertiary }: Levels): string[] {
  const isOne = (first: string, second: string) => tertiary(first + second, first + joiner + second) !== 0
  const pairs = (firsts: readonly string[], seconds: readonly string[]) =>
    firsts.flatMap(first => seconds.filter(second => isOne(first, second)).map(second => first + second))
  const found = pairs(latinLetters, [...latinLetters, ...accentedLetters])
  let longer = found
  for (let length = 3; length <= 4 && longer.length > 0; length += 1) {
    longer = [...new Set([...pairs(longer, latinLetters), ...pairs(latinLetters, longer)])]
    found.push(...longer)
  }
  return [...found, ...pairs(earlyVowels, consonants), ...pairs(kana, kanaMarks)]
}

const runLength = 512

/** A merge sort that yields now and then. It is fast if most of the texts are in order. */
function* sorted(texts: readonly string[], compare: CompareText): Generator<void, string[]> {
  let runs: string[][] = []
  for (let at = 0; at < texts.length; at += runLength) {
    runs.push(texts.slice(at, at + runLength).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const longer: string[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      const [left, right] = [runs[at]!, runs[at + 1]]
      longer.push(right === undefined ? left : yield* merged(left, right, compare))
    }
    runs = longer
  }
  return runs[0] ?? []
}

function* merged(left: string[], right: string[], compare: CompareText): Generator<void, string[]> {
  const result: string[] = []
  let [fromLeft, fromRight, steps] = [0, 0, 0]
  while (fromLeft < left.length && fromRight < right.length) {
    const text = right[fromRight]!
    const leftEnd = gallop(left, fromLeft, other => compare(other, text) <= 0)
    while (fromLeft < leftEnd) result.push(left[fromLeft++]!)
    if (fromLeft === left.length) break
    const next = left[fromLeft]!
    const rightEnd = gallop(right, fromRight, other => compare(other, next) < 0)
    while (fromRight < rightEnd) result.push(right[fromRight++]!)
    if (++steps % 512 === 0) yield
  }
  return result.concat(left.slice(fromLeft), right.slice(fromRight))
}

/** The first index from `from` on whose text does not pass. All before it pass. */
function gallop(texts: readonly string[], from: number, passes: (text: string) => boolean): number {
  let step = 1
  let low = from
  while (low + step <= texts.length && passes(texts[low + step - 1]!)) {
    low += step
    step *= 2
  }
  let high = Math.min(texts.length, low + step - 1)
  while (low < high) {
    const middle = (low + high) >> 1
    if (passes(texts[middle]!)) low = middle + 1
    else high = middle
  }
  return low
}

const numberBase = 200

/** A number as three bytes that compare like it. */
function number(value: number): string {
  const low = value % numberBase
  const middle = Math.floor(value / numberBase) % numberBase
  return String.fromCharCode(
    firstByte + 1 + Math.floor(value / numberBase ** 2),
    firstByte + 1 + middle,
    firstByte + 1 + low,
  )
}

const kinds = { class: 0, number: 1, gap: 2 } as const

/** The weight of a class, or of a number or a gap that lies between it and the next class. */
export function primaryWeight(at: number, kind: keyof typeof kinds): string {
  return number(4 * at + kinds[kind])
}

/** Most letters of a class that differ at the second level. */
const lettersMax = 30
const firstMarkByte = 0x40

/** An odd number is a weight between a letter and the next one. The most common weight is the lowest byte. */
function letterWeight(doubled: number): string {
  if (doubled >= 2 * lettersMax) throw new NoWeights()
  return String.fromCharCode(firstByte + doubled)
}

function markWeight(doubled: number): string {
  return String.fromCharCode(firstMarkByte + (doubled >> 7), firstByte + 1 + (doubled & 0x7f))
}

const aboveVariants = '\xf0'

/** The weights of a number at the levels behind the first: those of a plain letter. */
export const plainWeights = { secondary: letterWeight(0), variant: variantWeight(0) }

function variantWeight(doubled: number): string {
  if (doubled === 0) return String.fromCharCode(firstByte)
  return String.fromCharCode(firstByte + 1 + (doubled >> 7), firstByte + 1 + (doubled & 0x7f))
}
