/**
 * Collations: how texts of a language compare. Intl.Collator compares; sort keys are made in sort-key.ts.
 *
 * The same options give the same object, so collations can be compared by identity while they are in use.
 */

import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { querySliceMsMax } from '../../base/limits.ts'
import { nextSlice } from '../../base/slices.ts'
import { compareTexts } from '../key-writer.ts'
import { assignedCharacters } from './code-points.ts'
import { type KeyShape, SortKeys } from './sort-key.ts'
import { type CompareText, joiner, type Levels, NoWeights, WeightTable } from './weights.ts'

/** All options of a collation, as plain data. */
export interface CollationOptions {
  /** A BCP 47 tag, with `-u-co-` for a special order of the language. */
  readonly language: string
  readonly strength: 1 | 2 | 3 | 4 | 5
  readonly caseLevel: boolean
  readonly caseFirst: 'upper' | 'lower' | 'off'
  readonly numericOrdering: boolean
  /** Whether spaces and punctuation are ignored. */
  readonly isShifted: boolean
  /** Whether accents are compared from the end. Only the language decides (Canadian French). */
  readonly isBackwards: boolean
  /** The version of ICU that sort keys were made with. They differ between versions. */
  readonly version: string
}

/**
 * Longest text that has a whole sort key. A character that is met for the first time takes up to 20 us (Han),
 * a known one 1 us, and the key of one text is made without a pause.
 */
export const collatedTextMax = 2048
/**
 * Characters of a long text that an index key is made from. A weight has three bytes, so these are enough for
 * most keys.
 */
const textStart = 512
/** The rest of a long text can change at most this many of the last bytes in the weights of its beginning. */
const changeableBytes = 256

export const collationVersion = process.versions.icu ?? ''

/** Most collations that are kept in memory. */
const collationsMax = 32
/** Most weight tables that are kept. A dropped one is made again when it is needed. */
const tablesMax = 16
const known = new Map<string, Collation>()
const tables = new Map<string, WeightTable>()

export function collationOf(options: CollationOptions): Collation {
  const name = JSON.stringify(Object.entries(options).sort())
  const found = known.get(name)
  if (found !== undefined) return remembered(known, name, found, collationsMax)
  return remembered(known, name, new Collation(options, name), collationsMax)
}

/** Maps keep the order in which entries were set, so the first entry is the least recently used one. */
function remembered<Entry>(entries: Map<string, Entry>, name: string, entry: Entry, entriesMax: number): Entry {
  entries.delete(name)
  entries.set(name, entry)
  if (entries.size > entriesMax) entries.delete(entries.keys().next().value!)
  return entry
}

export class Collation {
  readonly options: CollationOptions
  /** Equal for equal options. */
  readonly name: string
  readonly compare: CompareText
  readonly #levels: Levels
  #keys: SortKeys | undefined
  #preparation: Promise<void> | undefined

  constructor(options: CollationOptions, name: string) {
    this.options = options
    this.name = name
    this.#levels = levelsOf(options)
    this.compare = comparison(options, this.#levels)
  }

  /** Makes the table of weights in slices, so that other requests get their turns. */
  prepare(): Promise<void> | undefined {
    if (this.#keys !== undefined) return undefined
    this.#preparation ??= this.#prepareInSlices()
    return this.#preparation
  }

  async #prepareInSlices(): Promise<void> {
    const making = this.#make()
    let start = machine.monotonicMs()
    while (making.next().done !== true) {
      if (machine.monotonicMs() - start < querySliceMsMax) continue
      await nextSlice()
      start = machine.monotonicMs()
    }
  }

  /**
   * The sort key of a text, in Latin-1, or at least its first `bytesMax` bytes. Makes the table if it is not
   * prepared.
   */
  keyOf(text: string, bytesMax = Number.POSITIVE_INFINITY): string {
    if (this.#keys === undefined) for (const _ of this.#make());
    try {
      return this.#startOfKey(text, bytesMax) ?? this.#keys!.keyOf(checkedText(text))
    } catch (error) {
      if (!(error instanceof NoWeights)) throw error
      throw new RequestError('malformed', `A text cannot be ordered by the collation of ${this.options.language}.`)
    }
  }

  /**
   * The primary weights of the beginning of a long text, if these are enough for `bytesMax` bytes; otherwise
   * undefined. The rest of the text can only change the last of them.
   */
  #startOfKey(text: string, bytesMax: number): string | undefined {
    if (text.length <= textStart || bytesMax > textStart) return undefined
    const primary = this.#keys!.primaryOf(text.slice(0, textStart))
    return primary.length >= bytesMax + changeableBytes ? primary : undefined
  }

  *#make(): Generator<void, void> {
    // Canadian French differs from French only in the direction of accents.
    const levels = this.options.isBackwards ? levelsOf({ ...this.options, language: 'fr' }) : this.#levels
    const table = yield* tableOf(this.options, levels)
    this.#keys ??= new SortKeys(table, levels, keyShape(this.options))
  }
}

function checkedText(text: string): string {
  if (text.length <= collatedTextMax) return text
  const problem = `A string of more than ${collatedTextMax} characters cannot be ordered by a collation.`
  throw new RequestError('too_large', problem)
}

/**
 * Most languages differ little from English. So characters in English order are nearly in order already, and
 * sorting them is fast.
 */
const english: CollationOptions = {
  ...{ language: 'en', strength: 3, caseLevel: false, caseFirst: 'off', numericOrdering: false },
  ...{ isShifted: false, isBackwards: false, version: collationVersion },
}

/** The table does not depend on the strength. */
function* tableOf(options: CollationOptions, levels: Levels): Generator<void, WeightTable> {
  const { language, caseFirst, numericOrdering, isShifted, isBackwards } = options
  const name = JSON.stringify([isBackwards ? 'fr' : language, caseFirst, numericOrdering, isShifted])
  const found = tables.get(name)
  if (found !== undefined) return remembered(tables, name, found, tablesMax)
  const isEnglish = language === english.language && caseFirst === 'off' && !numericOrdering && !isShifted
  const characters = isEnglish ? yield* assignedCharacters() : (yield* tableOf(english, levelsOf(english))).characters
  const table = yield* WeightTable.build(levels, characters)
  return remembered(tables, name, table, tablesMax)
}

function levelsOf(options: CollationOptions): Levels {
  return {
    primary: collator(options, 'base'),
    secondary: collator(options, 'accent'),
    tertiary: collator(options, 'variant'),
    caseLevel: collator(options, 'case'),
  }
}

function collator(options: CollationOptions, sensitivity: Intl.CollatorOptions['sensitivity']): CompareText {
  const { language, caseFirst, numericOrdering, isShifted, isBackwards } = options
  const { compare } = new Intl.Collator(language, {
    sensitivity,
    caseFirst: caseFirst === 'off' ? 'false' : caseFirst,
    numeric: numericOrdering,
    ignorePunctuation: isShifted,
  } as Intl.CollatorOptions)
  if (!isShifted && !isBackwards && !numericOrdering) return compare
  // ICU skips the common beginning of two texts. In these collations the order of the rest may depend on that
  // beginning, and then two texts that equal a third one may differ. The joiner has no weight, and prevents
  // skipping.
  return (left, right) => compare(joiner + left, right)
}

function comparison({ strength, caseLevel }: CollationOptions, levels: Levels): CompareText {
  const { primary, secondary, tertiary, caseLevel: caseOf } = levels
  if (strength === 1) return caseLevel ? caseOf : primary
  if (strength === 2) return caseLevel ? (a, b) => secondary(a, b) || caseOf(a, b) : secondary
  const whole: CompareText = caseLevel ? (a, b) => secondary(a, b) || caseOf(a, b) || tertiary(a, b) : tertiary
  if (strength < 5) return whole
  return (a, b) => whole(a, b) || compareTexts(a.normalize('NFD'), b.normalize('NFD'))
}

function keyShape(options: CollationOptions): KeyShape {
  const { strength, caseLevel, numericOrdering, isShifted, isBackwards } = options
  return {
    levels: strength > 3 ? 3 : (strength as 1 | 2 | 3),
    hasCaseLevel: caseLevel,
    isNumeric: numericOrdering,
    isBackwards,
    isShifted,
    isIdentical: strength === 5,
  }
}
