/**
 * Sort keys of texts: bytes whose order is the order of the collation.
 *
 * A text is cut into units that do not change each other's weights: mostly single characters. The weights of
 * units are cached. The levels of a key follow one another, separated by a byte that is lower than any
 * weight. Lowest weights at the end of a level are left out. This keeps the order, because texts that are
 * equal up to that level have equally many elements.
 */

import {
  joiner,
  type Levels,
  NoWeights,
  plainWeights,
  primaryWeight,
  type Weights,
  type WeightTable,
} from './weights.ts'

export interface KeyShape {
  /** How many of the three levels count. */
  readonly levels: 1 | 2 | 3
  readonly hasCaseLevel: boolean
  readonly isNumeric: boolean
  /** Compares secondary weights from the end. */
  readonly isBackwards: boolean
  /** Whether spaces and punctuation are ignored. */
  readonly isShifted: boolean
  /** Whether the text itself is the last level. */
  readonly isIdentical: boolean
}

/** Most units whose weights are kept in memory. A text with new units is slower, not wrong. */
const unitsMax = 10_000
/** Most units that `#checked` compares at once. */
const groupMax = 64
/** Most digits of one number. A longer one counts as several, as in ICU. */
const digitsMax = 254

interface Unit extends Weights {
  /** Whether it ends in punctuation that is ignored, as `(` and `㈠` do. Marks behind it are ignored, too. */
  readonly ignoresMarksBehind: boolean
}

const separator = '\x02'
const anyMark = '\u0301'
const firstByte = 3
const lowest = String.fromCharCode(firstByte)
const ascii = /^[\x20-\x7e]*$/
const decimalDigit = /^\p{Nd}$/u

export class SortKeys {
  readonly #table: WeightTable
  readonly #levels: Levels
  readonly #shape: KeyShape
  readonly #units = new Map<string, Unit>()
  readonly #isApart = new Map<string, boolean>()
  readonly #asciiUnits: readonly Unit[] | undefined

  constructor(table: WeightTable, levels: Levels, shape: KeyShape) {
    this.#table = table
    this.#levels = levels
    this.#shape = shape
    this.#asciiUnits = shape.isNumeric ? undefined : this.#plainAscii()
  }

  /** The key of a text, as a string of Latin-1 characters: one for each byte. */
  keyOf(text: string): string {
    if (this.#asciiUnits !== undefined && ascii.test(text)) return this.#asciiKey(text, this.#asciiUnits)
    const normal = text.normalize('NFD')
    return this.#joined(this.#weightsOf(this.#cut(normal)), normal)
  }

  /** The first level of the key. */
  primaryOf(text: string): string {
    const units = this.#weightsOf(this.#cut(text.normalize('NFD')))
    return units.map(({ primary }) => primary).join('')
  }

  #asciiKey(text: string, units: readonly Unit[]): string {
    const found: Unit[] = []
    for (let at = 0; at < text.length; at += 1) found.push(units[text.charCodeAt(at)]!)
    return this.#joined(found, text)
  }

  /** Weights of ASCII characters. Undefined if two of them make a unit, as in some languages. */
  #plainAscii(): readonly Unit[] | undefined {
    const characters = Array.from({ length: 0x7f - 0x20 }, (_, index) => String.fromCharCode(0x20 + index))
    const { tertiary } = this.#levels
    for (const first of characters) {
      for (const second of characters) {
        if (tertiary(first + second, first + joiner + second) !== 0) return undefined
      }
    }
    const units: Unit[] = []
    for (const character of characters) units[character.charCodeAt(0)] = this.#unit(character)
    return units
  }

  #joined(units: readonly Unit[], normal: string): string {
    const { levels, hasCaseLevel, isBackwards, isIdentical } = this.#shape
    let key = ''
    for (const unit of units) key += unit.primary
    if (levels > 1) {
      let weights = ''
      if (isBackwards)
        weights = units
          .flatMap(({ secondary }) => secondary)
          .reverse()
          .join('')
      else for (const { secondary } of units) weights += secondary.length === 1 ? secondary[0]! : secondary.join('')
      key += separator + withoutLowest(weights)
    }
    if (hasCaseLevel) {
      let weights = ''
      for (const { caseLevel } of units) weights += caseLevel
      key += separator + withoutLowest(weights)
    }
    if (levels > 2) {
      let weights = ''
      for (const { tertiary } of units) weights += tertiary
      key += separator + withoutLowest(weights)
    }
    return isIdentical ? key + separator + Buffer.from(normal).toString('latin1') : key
  }

  /** Cuts a text where its parts do not change each other's weights. */
  #cut(text: string): string[] {
    const units: string[] = []
    let unit = ''
    for (const character of text) {
      if (unit !== '' && this.#areApart(unit, character)) {
        units.push(unit)
        unit = ''
      }
      unit += character
    }
    if (unit !== '') units.push(unit)
    return units
  }

  #areApart(unit: string, character: string): boolean {
    if (this.#shape.isNumeric && isDigit(character)) return !isDigit([...unit].at(-1)!)
    const pair = unit + separator + character
    let isApart = this.#isApart.get(pair)
    if (isApart === undefined) {
      isApart = this.#levels.tertiary(unit + character, unit + joiner + character) === 0
      if (this.#isApart.size >= unitsMax) this.#isApart.clear()
      this.#isApart.set(pair, isApart)
    }
    return isApart
  }

  #weightsOf(texts: readonly string[]): readonly Unit[] {
    const units: Unit[] = []
    let areMarksIgnored = false
    for (let at = 0; at < texts.length; at += groupMax) {
      for (const text of this.#checked(texts.slice(at, at + groupMax))) {
        const unit = this.#unit(text)
        if (areMarksIgnored && unit.primary === '') continue
        units.push(unit)
        areMarksIgnored = unit.ignoresMarksBehind
      }
    }
    return units
  }

  /** Joins units that make one only together with a third, such as `ccs` in Hungarian. */
  #checked(texts: readonly string[]): readonly string[] {
    const { tertiary } = this.#levels
    let units = texts
    while (units.length > 1 && tertiary(units.join(''), units.join(joiner)) !== 0) {
      let low = 1
      let high = units.length
      while (low < high) {
        const middle = (low + high) >> 1
        const part = units.slice(0, middle)
        if (tertiary(part.join(''), part.join(joiner)) === 0) low = middle + 1
        else high = middle
      }
      const at = Math.max(0, low - 2)
      units = [...units.slice(0, at), units.slice(at, at + 2).join(''), ...units.slice(at + 2)]
    }
    return units
  }

  #unit(text: string): Unit {
    let unit = this.#units.get(text)
    if (unit === undefined) {
      unit = this.#makeUnit(text)
      if (this.#units.size >= unitsMax) this.#units.clear()
      this.#units.set(text, unit)
    }
    return unit
  }

  #makeUnit(text: string): Unit {
    const { isNumeric, isShifted } = this.#shape
    const ignoresMarksBehind = isShifted && this.#levels.secondary(text + anyMark, text) === 0
    if (isNumeric && isDigit([...text][0]!)) return { ...this.#weightsOfNumber(text), ignoresMarksBehind }
    // Ligatures have the weights of their letters, also where these letters lie in a gap (weights.ts).
    const letters = text.normalize('NFKD')
    const isLigature = letters !== text && this.#levels.tertiary(letters, text) === 0
    const weights = isLigature ? joined(this.#weightsOf(this.#cut(letters))) : this.#weightsOfText(text)
    return { ...weights, ignoresMarksBehind }
  }

  #weightsOfText(text: string): Weights {
    try {
      return this.#table.weightsOf(text)
    } catch (error) {
      const parts = error instanceof NoWeights ? this.#withoutMark(text) : undefined
      if (parts === undefined) throw error
      return joined(parts.map(part => this.#unit(part)))
    }
  }

  /** Takes out a mark that does not belong to its unit, such as the dot below an Ä in German phone books. */
  #withoutMark(text: string): readonly [rest: string, mark: string] | undefined {
    const characters = [...text]
    for (let at = characters.length - 1; at > 0; at -= 1) {
      const rest = characters.toSpliced(at, 1).join('')
      if (this.#levels.tertiary(text, rest + joiner + characters[at]!) === 0) return [rest, characters[at]!]
    }
    return undefined
  }

  /**
   * A single digit has its own weight. Longer numbers come after 9, by their length, then by their digits.
   */
  #weightsOfNumber(text: string): Weights {
    const digits = Array.from(text, digit => this.#valueOf(digit))
    let primary = ''
    let parts = 0
    let at = 0
    while (at < digits.length) {
      parts += 1
      while (at < digits.length - 1 && digits[at] === 0) at += 1
      const part = digits.slice(at, at + digitsMax)
      at += part.length
      if (part.length === 1) primary += primaryWeight(this.#table.classOf(String(part[0])), 'class')
      else {
        const above = primaryWeight(this.#table.classOf('9'), 'number')
        primary += above + String.fromCharCode(part.length, ...part.map(digit => firstByte + digit))
      }
    }
    const variants = plainWeights.variant.repeat(parts)
    return {
      primary,
      secondary: Array(parts).fill(plainWeights.secondary),
      tertiary: variants,
      caseLevel: variants,
    }
  }

  #valueOf(digit: string): number {
    for (let value = 0; value < 10; value += 1) if (this.#levels.primary(digit, String(value)) === 0) return value
    throw new NoWeights()
  }
}

function joined(parts: readonly Weights[]): Weights {
  return {
    primary: parts.map(({ primary }) => primary).join(''),
    secondary: parts.flatMap(({ secondary }) => secondary),
    tertiary: parts.map(({ tertiary }) => tertiary).join(''),
    caseLevel: parts.map(({ caseLevel }) => caseLevel).join(''),
  }
}

function isDigit(character: string): boolean {
  return decimalDigit.test(character)
}

function withoutLowest(weights: string): string {
  let end = weights.length
  while (end > 0 && weights[end - 1] === lowest) end -= 1
  return end === weights.length ? weights : weights.slice(0, end)
}
