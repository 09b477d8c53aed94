/** Collations as clients ask for them: checked, completed, and refused where Intl.Collator cannot do them. */

import type { MaybePromise } from '../../base/maybe-promise.ts'
import { bytesOf } from '../../document/bson/compare.ts'
import { exactInteger, isNumeric } from '../../document/bson/number.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { endOfValue } from '../../document/bson/view.ts'
import {
  type Collation,
  type CollationOptions,
  collationOf,
  collationVersion,
} from '../../document/collation/collation.ts'
import { printDocument } from '../../mql/errors/print.ts'
import { CommandError } from '../answers/command-error.ts'
import { encodeFields } from '../answers/fields.ts'
import type { Arguments } from './arguments.ts'

export interface ParsedCollation {
  /** Undefined: strings compare byte by byte. */
  readonly collation: Collation | undefined
  /** With all its options, as `listCollections` and `listIndexes` show it. */
  readonly document: BsonDocument | undefined
}

/** The version of ICU in MongoDB. Tools that copy indexes from there send it. */
const mongoCollationVersion = '57.1'

export const simpleCollation: ParsedCollation = { collation: undefined, document: undefined }

/** Clients send the same few collations again and again. Making a collator takes 20 us. */
const parsed = new Map<string, ParsedCollation>()
const parsedMax = 256

export function parseCollation(given: BsonDocument): ParsedCollation {
  const { bytes, start } = bytesOf(given)
  const text = textOfBytes(bytes, start, endOfValue(bytes, bsonType.document, start))
  const known = parsed.get(text)
  if (known !== undefined) return known
  const made = readCollation(given)
  if (parsed.size >= parsedMax) parsed.clear()
  parsed.set(text, made)
  return made
}

function textOfBytes(bytes: Uint8Array, start: number, end: number): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset + start, end - start).toString('latin1')
}

function readCollation(given: BsonDocument): ParsedCollation {
  const locale = text(given, 'locale')
  if (locale === undefined) {
    throw new CommandError(40414, "BSON field 'collation.locale' is missing but a required field")
  }
  if (locale === 'simple') {
    if (given.fields.length === 1) return simpleCollation
    const problem = 'If locale=simple, no other fields should be present in'
    throw new CommandError('FailedToParse', `${problem}: ${printDocument(given)}`)
  }
  const collator = new Intl.Collator(checkedLanguage(locale, given))
  const defaults = collator.resolvedOptions() as Intl.ResolvedCollatorOptions & { readonly caseFirst?: string }
  for (const [name] of given.fields) {
    if (!fields.has(name)) throw new CommandError(40415, `BSON field 'collation.${name}' is an unknown field.`)
  }
  const isFrench = defaults.locale.startsWith('fr-CA')
  const all = {
    locale,
    caseLevel: flag(given, 'caseLevel') ?? false,
    caseFirst: choice(given, 'caseFirst', ['upper', 'lower', 'off']) ?? caseFirstOf(defaults.caseFirst),
    strength: strengthOf(given),
    numericOrdering: flag(given, 'numericOrdering') ?? defaults.numeric,
    alternate:
      choice(given, 'alternate', ['non-ignorable', 'shifted']) ??
      (defaults.ignorePunctuation ? 'shifted' : 'non-ignorable'),
    maxVariable: choice(given, 'maxVariable', ['punct', 'space']) ?? 'punct',
    normalization: flag(given, 'normalization') ?? false,
    backwards: flag(given, 'backwards') ?? isFrench,
    version: collationVersion,
  }
  checkVersion(given)
  const document = documentOf(all)
  refuseCombination(all, document)
  refuseMissing(all, { isFrench, isJapanese: defaults.locale.startsWith('ja') })
  return { collation: collationOf(optionsOf(all)), document }
}

/** With all its options. */
export function shownCollation({ options }: Collation): BsonDocument {
  const { language, strength, caseLevel, caseFirst, numericOrdering, isShifted, isBackwards, version } = options
  const [tag, order] = language.split('-u-co-')
  const long = Object.entries(shortNames).find(([, short]) => short === order)?.[0] ?? order
  return documentOf({
    locale: tag!.replaceAll('-', '_') + (long === undefined ? '' : `@collation=${long}`),
    ...{ caseLevel, caseFirst, strength, numericOrdering },
    alternate: isShifted ? 'shifted' : 'non-ignorable',
    ...{ maxVariable: 'punct', normalization: false, backwards: isBackwards, version },
  })
}

/** A collation that was checked before it was stored. Comparisons follow the version of ICU that runs. */
export function storedCollation(document: BsonDocument | undefined): Collation | undefined {
  return document && parseCollation(BsonDocument.of(document.fields.filter(([name]) => name !== 'version'))).collation
}

function documentOf(all: AllOptions): BsonDocument {
  return BsonDocument.view(encodeFields({ ...all }))
}

interface AllOptions {
  readonly locale: string
  readonly caseLevel: boolean
  readonly caseFirst: 'upper' | 'lower' | 'off'
  readonly strength: CollationOptions['strength']
  readonly numericOrdering: boolean
  readonly alternate: 'non-ignorable' | 'shifted'
  readonly maxVariable: 'punct' | 'space'
  readonly normalization: boolean
  readonly backwards: boolean
  readonly version: string
}

function optionsOf(all: AllOptions): CollationOptions {
  const { locale, caseLevel, caseFirst, strength, numericOrdering, alternate, backwards, version } = all
  return {
    ...{ language: languageOf(locale), strength, caseLevel, caseFirst, numericOrdering },
    ...{ isShifted: alternate === 'shifted', isBackwards: backwards, version },
  }
}

const fields: ReadonlySet<string> = new Set([
  'locale',
  'caseLevel',
  'caseFirst',
  'strength',
  'numericOrdering',
  'alternate',
  'maxVariable',
  'normalization',
  'backwards',
  'version',
])

/** BCP 47 has shorter names for the orders of a language. */
const shortNames: Readonly<Record<string, string>> = {
  phonebook: 'phonebk',
  traditional: 'trad',
  dictionary: 'dict',
  gb2312han: 'gb2312',
}

/** `de@collation=phonebook` and `zh_Hant` as BCP 47. */
function languageOf(locale: string): string {
  const [name, order] = locale.split('@collation=')
  const tag = name!.replaceAll('_', '-')
  return order === undefined ? tag : `${tag}-u-co-${shortNames[order] ?? order}`
}

/** Languages written in several scripts: the region decides which one is meant, and its name is complete. */
const languagesOfScripts: ReadonlySet<string> = new Set(['az', 'bs', 'pa', 'sr', 'uz', 'zh'])

function checkedLanguage(locale: string, given: BsonDocument): string {
  if (locale === '') throw invalid("Field 'locale' cannot be the empty string in", given)
  if (locale.includes('\0')) throw invalid("Field 'locale' cannot contain null byte. Collation spec", given)
  const language = languageOf(locale)
  const [name, order] = locale.split('@collation=')
  let known: readonly string[]
  try {
    known = locale.includes('-') ? [] : Intl.Collator.supportedLocalesOf([name!.replaceAll('_', '-')])
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw invalid("Field 'locale' is not valid in", given)
  }
  if (known.length === 0) throw invalid("Field 'locale' is invalid in", given)
  const canonical = canonicalName(known[0]!)
  const asked = new Intl.Collator(language).resolvedOptions()
  const isOrderKnown = order === undefined || asked.collation === (shortNames[order] ?? order)
  if (canonical === name && isOrderKnown) return language
  const meant = canonical === name || !isOrderKnown ? canonical : locale.replace(name!, canonical)
  const problem = `Field 'locale' is invalid in: ${printDocument(given)}. Did you mean '${meant}'?`
  throw new CommandError('BadValue', problem)
}

function canonicalName(tag: string): string {
  const locale = new Intl.Locale(tag)
  const isIncomplete = languagesOfScripts.has(locale.language) && locale.region !== undefined && !locale.script
  return (isIncomplete ? locale.maximize() : locale).baseName.replaceAll('-', '_')
}

function caseFirstOf(given: string | undefined): AllOptions['caseFirst'] {
  return given === 'upper' || given === 'lower' ? given : 'off'
}

function strengthOf(given: BsonDocument): AllOptions['strength'] {
  const value = given.get('strength')
  if (value === undefined) return 3
  const number = isNumeric(value) ? exactInteger(value) : undefined
  if (number === undefined) throw wrongType('strength', value, '[int, decimal, double, long]', 'types')
  if (number < 1n) {
    throw new CommandError(51024, `BSON field 'strength' value must be >= 1, actual value '${number}'`)
  }
  if (number > 5n) {
    throw new CommandError(51024, `BSON field 'strength' value must be <= 5, actual value '${number}'`)
  }
  return Number(number) as AllOptions['strength']
}

function checkVersion(given: BsonDocument): void {
  const version = text(given, 'version')
  if (version === undefined || version === collationVersion || version === mongoCollationVersion) return
  throw new CommandError(
    'IncompatibleCollationVersion',
    `Requested collation version ${version} but the only available collator version was ${collationVersion}. ` +
      `Requested collation spec: ${printDocument(given)}`,
  )
}

function refuseCombination({ backwards, strength, caseFirst, caseLevel }: AllOptions, document: BsonDocument): void {
  if (backwards && strength === 1) throw invalid("'backwards' is invalid with 'strength' of 1 in", document)
  if (caseFirst !== 'off' && !caseLevel && strength < 3) {
    throw invalid("'caseFirst' is invalid unless 'caseLevel' is on or 'strength' is greater than 2 in", document)
  }
}

/** Refuses what MongoDB can do and Intl.Collator cannot. */
function refuseMissing(
  { alternate, maxVariable, strength, backwards }: AllOptions,
  { isFrench, isJapanese }: { readonly isFrench: boolean; readonly isJapanese: boolean },
): void {
  if (backwards !== isFrench) throw missing(`backwards: ${backwards} with this locale`)
  if (alternate === 'shifted' && maxVariable === 'space')
    throw missing("alternate: 'shifted' with maxVariable: 'space'")
  if (alternate === 'shifted' && strength > 3) throw missing(`alternate: 'shifted' with strength: ${strength}`)
  if (isJapanese && strength > 3) throw missing(`strength: ${strength} with a Japanese locale`)
}

function missing(what: string): CommandError {
  return new CommandError('NotImplemented', `A collation with ${what} is not supported.`)
}

function invalid(problem: string, given: BsonDocument): CommandError {
  return new CommandError('BadValue', `${problem}: ${printDocument(given)}`)
}

function wrongType(name: string, value: Value, expected: string, word = 'type'): CommandError {
  const found = `'${typeName(value.type)}', expected ${word} '${expected}'`
  return new CommandError('TypeMismatch', `BSON field 'collation.${name}' is the wrong type ${found}`)
}

function text(given: BsonDocument, name: string): string | undefined {
  const value = given.get(name)
  if (value === undefined || value.type === bsonType.string) return value?.value
  throw wrongType(name, value, 'string')
}

function flag(given: BsonDocument, name: string): boolean | undefined {
  const value = given.get(name)
  if (value === undefined || value.type === bsonType.bool) return value?.value
  throw wrongType(name, value, 'bool')
}

function choice<Choice extends string>(
  given: BsonDocument,
  name: string,
  choices: readonly Choice[],
): Choice | undefined {
  const value = text(given, name)
  const found = choices.find(each => each === value)
  if (value === undefined || found !== undefined) return found
  const problem = `Enumeration value '${value}' for field 'collation.${name}' is not a valid value.`
  throw new CommandError('BadValue', problem)
}

/** The collation of a command, without that of a collection. It may not be ready to make sort keys. */
export function givenCollation(args: Arguments): Collation | undefined {
  const given = args.document('collation')
  return given === undefined || given.isEmpty ? undefined : parseCollation(given).collation
}

/**
 * The collation of a command or statement: its own, or that of the collection. It is ready to make sort keys.
 */
export function collationOfCall(
  args: Arguments,
  collection: { readonly collation: Collation | undefined } | undefined,
): MaybePromise<Collation | undefined> {
  const given = args.document('collation')
  const collation = given === undefined || given.isEmpty ? collection?.collation : parseCollation(given).collation
  if (collation === undefined) return undefined
  return collation.prepare()?.then(() => collation) ?? collation
}
