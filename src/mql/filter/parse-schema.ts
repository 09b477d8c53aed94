/** Compiles `$jsonSchema`, or throws with MongoDB's text. Recurses as deep as documents nest. */

import { spend } from '../../base/work.ts'
import { exactInteger, isNaNValue, isNumeric, toDouble } from '../../document/bson/number.ts'
import { bsonType, isNumberType, typeName, typeNamed } from '../../document/bson/types.ts'
import { BsonDocument, type Field, falseValue, trueValue, type Value, valueAt } from '../../document/bson/value.ts'
import { badValue, failedToParse, MongoError, typeMismatch } from '../errors/mongo-error.ts'
import { printElement } from '../errors/print.ts'
import { comparisonTest } from './comparison.ts'
import type { Comparison } from './filter.ts'
import { Patterns, regexTest } from './regex.ts'
import type { DependencyRule, PatternRule, Schema, SchemaRule } from './schema.ts'
import {
  brokenOf,
  duplicateIn,
  elementCount,
  isArray,
  isObject,
  isString,
  itemListTest,
  mismatchIn,
  missingOf,
  multipleTest,
  oneOfTest,
  onlyFor,
  otherPropertiesTest,
  propertiesTest,
  textLength,
  unorderedIdentity,
} from './schema-tests.ts'

export function parseSchema(value: Value): Schema {
  if (value.type !== bsonType.document) throw typeMismatch('$jsonSchema must be an object')
  return new SchemaParser(value, true, new Patterns()).parse()
}

const unsupported: ReadonlySet<string> = new Set(['$ref', '$schema', 'default', 'definitions', 'format', 'id'])

/** Compiling a schema of a few keywords takes about 5 microseconds. */
const schemaSteps = 250

/** Types have other names in JSON Schema than in BSON. */
const jsonTypes = new Map<string, number>([
  ['array', bsonType.array],
  ['boolean', bsonType.bool],
  ['null', bsonType.null],
  ['object', bsonType.document],
  ['string', bsonType.string],
])

const numberTypes = [bsonType.double, bsonType.int32, bsonType.int64, bsonType.decimal128]

type KeywordParser = (parser: SchemaParser, value: Value, keyword: string) => readonly SchemaRule[]

/** Parses one schema. Its keywords are compiled in MongoDB's order, which is also the order of errors. */
class SchemaParser {
  readonly #spec: BsonDocument
  /** Whether the schema is about a whole document. */
  readonly #isRoot: boolean
  readonly #keywords = new Map<string, Value>()
  /** Shared by all schemas within one `$jsonSchema`. */
  readonly patterns: Patterns

  constructor(spec: BsonDocument, isRoot: boolean, patterns: Patterns) {
    this.#spec = spec
    this.#isRoot = isRoot
    this.patterns = patterns
  }

  get isRoot(): boolean {
    return this.#isRoot
  }

  parse(): Schema {
    spend(schemaSteps)
    for (const [name, value] of this.#spec.fields) {
      if (name === 'encrypt' || name === 'encryptMetadata') {
        throw new MongoError(224, 'Encryption-related validator keywords are not allowed in this context')
      }
      if (unsupported.has(name)) throw failedToParse(`$jsonSchema keyword '${name}' is not currently supported`)
      if (!keywords.has(name)) throw failedToParse(`Unknown $jsonSchema keyword: ${name}`)
      if (this.#keywords.has(name)) throw failedToParse(`Duplicate $jsonSchema keyword: ${name}`)
      this.#keywords.set(name, value)
    }
    const types = this.#types()
    const rules: SchemaRule[] = []
    if (this.#keywords.size > 0) {
      for (const [keyword, parse] of parsers) {
        const value = this.#keywords.get(keyword)
        if (value !== undefined) rules.push(...parse(this, value, keyword))
      }
    }
    const isNever = this.#isRoot && types !== undefined && !types.types.has(bsonType.document)
    if (types !== undefined && !this.#isRoot) rules.push(types.rule)
    const tests = rules.map(({ test }) => test)
    const [only, second] = tests
    const test: Schema['test'] = isNever
      ? () => false
      : second === undefined
        ? (only ?? (() => true))
        : (bytes, type, start) => tests.every(each => each(bytes, type, start))
    return { spec: this.#spec, rules, test, isNever }
  }

  keyword(name: string): Value | undefined {
    return this.#keywords.get(name)
  }

  /** A schema within this one. `isSame`: it is about the same value. */
  nested(value: Value, isSame: boolean): Schema {
    return new SchemaParser(value as BsonDocument, isSame && this.#isRoot, this.patterns).parse()
  }

  #types(): { readonly types: ReadonlySet<number>; readonly rule: SchemaRule } | undefined {
    const type = this.#keywords.get('type')
    const bson = this.#keywords.get('bsonType')
    if (type !== undefined && bson !== undefined) {
      throw failedToParse("Cannot specify both $jsonSchema keywords 'type' and 'bsonType'")
    }
    const value = type ?? bson
    if (value === undefined) return undefined
    const keyword = type === undefined ? 'bsonType' : 'type'
    const types = typesOf(value, keyword)
    const rule: SchemaRule = { kind: 'type', ...written(keyword, value), test: (_, each) => types.has(each) }
    return { types, rule }
  }
}

function typesOf(value: Value, keyword: string): ReadonlySet<number> {
  if (value.type !== bsonType.string && value.type !== bsonType.array) {
    throw typeMismatch(`$jsonSchema keyword '${keyword}' must be either a string or an array of strings`)
  }
  const names = new Set<string>()
  for (const each of value.type === bsonType.array ? value.elements : [value]) {
    if (each.type !== bsonType.string) {
      throw typeMismatch(`$jsonSchema keyword '${keyword}' array elements must be strings`)
    }
    if (each.value === 'integer') throw failedToParse("$jsonSchema type 'integer' is not currently supported.")
    if (names.has(each.value)) {
      throw failedToParse(`$jsonSchema keyword '${keyword}' has duplicate value: ${each.value}`)
    }
    names.add(each.value)
  }
  const types = new Set<number>()
  for (const name of names) {
    if (name === 'number') for (const number of numberTypes) types.add(number)
    else {
      const type = keyword === 'type' ? jsonTypes.get(name) : typeNamed(name)
      if (type === undefined) throw badValue(`Unknown type name alias: ${name}`)
      types.add(type)
    }
  }
  if (types.size === 0) throw failedToParse(`$jsonSchema keyword '${keyword}' must name at least one type`)
  return types
}

function written(keyword: string, value: Value): Pick<SchemaRule, 'keyword' | 'specifiedAs'> {
  return { keyword, specifiedAs: BsonDocument.of([[keyword, value]]) }
}

function must(keyword: string, what: string): MongoError {
  return typeMismatch(`$jsonSchema keyword '${keyword}' must be ${what}`)
}

/** MongoDB prints types as numbers in these messages. */
function typeCode({ type }: Value): number {
  return type === bsonType.minKey ? -1 : type
}

const annotation: KeywordParser = (_, value, keyword) => {
  if (value.type !== bsonType.string) throw must(keyword, 'of type string')
  return []
}

const pattern: KeywordParser = ({ patterns }, value, keyword) => {
  if (value.type !== bsonType.string) throw must(keyword, 'a string')
  const test = onlyFor(isString, regexTest({ kind: 'regex', pattern: value.value, options: '' }, patterns))
  return [{ kind: 'value', reason: 'regular expression did not match', ...written(keyword, value), test }]
}

/** A whole number from 0 on. */
function countOf(keyword: string, value: Value): number {
  const printed = printElement(keyword, value)
  if (!isNumeric(value)) throw failedToParse(`Expected a number in: ${printed}`)
  if (isNaNValue(value)) throw failedToParse(`Expected an integer, but found NaN in: ${printed}`)
  const double = toDouble(value)
  if (Math.abs(double) >= 2 ** 63) throw failedToParse(`Cannot represent as a 64-bit integer: ${printed}`)
  if (exactInteger(value) === undefined) throw failedToParse(`Expected an integer: ${printed}`)
  if (double < 0) throw failedToParse(`Expected a non-negative number in: ${printed}`)
  return double
}

/** A limit for the characters, elements or properties in a value of one type. */
function counted(
  isConcerned: (type: number) => boolean,
  count: (bytes: Uint8Array, start: number) => number,
  shown: { readonly kind: 'value'; readonly reason: string } | { readonly kind: 'itemCount' | 'propertyCount' },
): KeywordParser {
  return (_, value, keyword) => {
    const limit = countOf(keyword, value)
    const isWithin = keyword.startsWith('min') ? (found: number) => found >= limit : (found: number) => found <= limit
    const test = onlyFor(isConcerned, (bytes, _type, start) => isWithin(count(bytes, start)))
    return [{ ...shown, ...written(keyword, value), test }]
  }
}

const stringLength = counted(isString, textLength, {
  kind: 'value',
  reason: 'specified string length was not satisfied',
})
const itemCount = counted(isArray, elementCount, { kind: 'itemCount' })
const propertyCount = counted(isObject, elementCount, { kind: 'propertyCount' })

const multipleOf: KeywordParser = (_, value, keyword) => {
  if (!isNumeric(value)) throw must(keyword, 'a number')
  if (!(toDouble(value) > 0)) throw failedToParse(`$jsonSchema keyword '${keyword}' must have a positive value`)
  const reason = 'considered value is not a multiple of the specified value'
  return [{ kind: 'value', reason, ...written(keyword, value), test: multipleTest(value) }]
}

function bound(exclusiveKeyword: string, [including, excluding]: readonly [Comparison, Comparison]): KeywordParser {
  return (parser, value, keyword) => {
    const exclusive = parser.keyword(exclusiveKeyword)
    if (exclusive !== undefined && exclusive.type !== bsonType.bool) throw must(exclusiveKeyword, 'a boolean')
    if (!isNumeric(value)) throw must(keyword, 'a number')
    const isExclusive = exclusive?.value === true
    const fields: Field[] = [[keyword, value], ...(isExclusive ? [[exclusiveKeyword, trueValue] as const] : [])]
    const test = onlyFor(isNumberType, comparisonTest(isExclusive ? excluding : including, value))
    return [{ kind: 'value', reason: 'comparison failed', keyword, specifiedAs: BsonDocument.of(fields), test }]
  }
}

/** `exclusiveMaximum` only changes the meaning of `maximum`, so it is an error without it. */
function beside(other: string): KeywordParser {
  return (parser, _, keyword) => {
    if (parser.keyword(other) !== undefined) return []
    throw failedToParse(`$jsonSchema keyword '${other}' must be a present if ${keyword} is present`)
  }
}

const uniqueItems: KeywordParser = (_, value, keyword) => {
  if (value.type !== bsonType.bool) throw must(keyword, 'a boolean')
  if (!value.value) return []
  const test = onlyFor(isArray, (bytes, _type, start) => duplicateIn(bytes, start) === undefined)
  return [{ kind: 'uniqueItems', ...written(keyword, value), test }]
}

function eachItem(keyword: string, value: Value, schema: Schema, from: number): SchemaRule {
  const items = keyword === 'items' ? 'item' : 'additional item'
  const reason = `At least one ${items} did not match the sub-schema`
  const test = onlyFor(isArray, (bytes, _, start) => mismatchIn(schema, from, bytes, start) === undefined)
  return { kind: 'eachItem', ...written(keyword, value), schema, from, reason, test }
}

const items: KeywordParser = (parser, value, keyword) => {
  if (value.type === bsonType.document) return [eachItem(keyword, value, parser.nested(value, false), 0)]
  if (value.type !== bsonType.array) throw must(keyword, `an array or an object, not ${typeCode(value)}`)
  const schemas = value.elements.map(each => {
    if (each.type === bsonType.document) return parser.nested(each, false)
    throw typeMismatch(
      `$jsonSchema keyword '${keyword}' requires that each element of the array is an object, but found a ` +
        typeCode(each),
    )
  })
  return [{ kind: 'itemList', ...written(keyword, value), schemas, test: itemListTest(schemas) }]
}

/** The rule for elements behind the list of schemas in `items`. Without such a list it has no effect. */
const additionalItems: KeywordParser = (parser, value, keyword) => {
  if (value.type !== bsonType.bool && value.type !== bsonType.document) {
    throw must(keyword, `either an object or a boolean, but got a ${typeCode(value)}`)
  }
  const schema = value.type === bsonType.document ? parser.nested(value, false) : undefined
  const list = parser.keyword('items')
  if (list?.type !== bsonType.array || (value.type === bsonType.bool && value.value)) return []
  const from = list.elements.length
  if (schema !== undefined) return [eachItem(keyword, value, schema, from)]
  const test = onlyFor(isArray, (bytes, _, start) => elementCount(bytes, start) <= from)
  return [{ kind: 'noItems', ...written(keyword, falseValue), from, test }]
}

/** The cost of one name: names are sorted and compared. */
const requiredSteps = 25

/** The names in `required`, sorted as the errors show them. */
function requiredNames(parser: SchemaParser): readonly string[] {
  const keyword = 'required'
  const value = parser.keyword(keyword)
  if (value === undefined) return []
  if (value.type !== bsonType.array) throw must(keyword, `an array, but found an element of type ${typeCode(value)}`)
  const names = value.elements.map(each => {
    spend(requiredSteps)
    if (each.type === bsonType.string) return each.value
    throw must(keyword, `an array of strings, but found an element of type: ${typeCode(each)}`)
  })
  if (new Set(names).size < names.length) {
    throw failedToParse(`$jsonSchema keyword '${keyword}' array cannot contain duplicate values`)
  }
  if (names.length === 0) throw failedToParse(`$jsonSchema keyword '${keyword}' cannot be an empty array`)
  return names.sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
}

const required: KeywordParser = (parser, value, keyword) => {
  const names = requiredNames(parser)
  const test = onlyFor(isObject, (bytes, _, start) => missingOf(names, bytes, start).length === 0)
  return [{ kind: 'required', ...written(keyword, value), names, test }]
}

const properties: KeywordParser = (parser, value, keyword) => {
  const names = new Set(requiredNames(parser))
  if (value.type !== bsonType.document) throw must(keyword, 'an object')
  const rules = value.fields.map(([name, spec]) => {
    if (spec.type !== bsonType.document) {
      throw typeMismatch(`Nested schema for $jsonSchema property '${name}' must be an object`)
    }
    return { name, schema: parser.nested(spec, false), isRequired: names.has(name) }
  })
  return [{ kind: 'properties', ...written(keyword, value), properties: rules, test: propertiesTest(rules) }]
}

/**
 * `patternProperties` and `additionalProperties` together: an additional property is neither named in
 * `properties` nor matched by a pattern.
 */
function otherProperties(parser: SchemaParser): readonly SchemaRule[] {
  const named = parser.keyword('properties')
  const names = new Set(named?.type === bsonType.document ? named.fields.map(([name]) => name) : [])
  const patterns = patternRules(parser)
  const value = parser.keyword('additionalProperties')
  if (value !== undefined && value.type !== bsonType.bool && value.type !== bsonType.document) {
    throw must('additionalProperties', 'an object or a boolean')
  }
  const others =
    value?.type === bsonType.document
      ? parser.nested(value, false)
      : value === undefined || value.value
        ? ('any' as const)
        : ('none' as const)
  const test = otherPropertiesTest(names, patterns, others)
  const given = written('additionalProperties', value ?? trueValue)
  return [{ kind: 'otherProperties', ...given, named: names, patterns, others, test }]
}

function patternRules(parser: SchemaParser): readonly PatternRule[] {
  const keyword = 'patternProperties'
  const value = parser.keyword(keyword)
  if (value === undefined) return []
  if (value.type !== bsonType.document) throw must(keyword, 'an object')
  return value.fields.map(([text, spec]) => {
    if (spec.type !== bsonType.document) {
      throw typeMismatch(`$jsonSchema keyword '${keyword}' has property '${text}' which is not an object`)
    }
    return { pattern: text, isNamed: parser.patterns.finder(text, ''), schema: parser.nested(spec, false) }
  })
}

const dependencies: KeywordParser = (parser, value, keyword) => {
  if (value.type !== bsonType.document) throw must(keyword, 'an object')
  const rules = value.fields.flatMap(([name, needs]): DependencyRule[] => {
    const isAnnotation = (name === 'title' || name === 'description') && needs.type === bsonType.string
    if (isAnnotation) return []
    if (needs.type === bsonType.document) return [{ name, needs: parser.nested(needs, true) }]
    if (needs.type === bsonType.array) return [{ name, needs: neededNames(name, needs.elements) }]
    throw typeMismatch(`property '${name}' in $jsonSchema keyword '${keyword}' must be either an object or an array`)
  })
  const test = onlyFor(isObject, (bytes, _, start) => brokenOf(rules, bytes, start).length === 0)
  return [{ kind: 'dependencies', ...written(keyword, value), spec: value, dependencies: rules, test }]
}

function neededNames(property: string, elements: readonly Value[]): readonly string[] {
  const within = `in $jsonSchema keyword 'dependencies'`
  if (elements.length === 0) throw failedToParse(`property '${property}' ${within} cannot be an empty array`)
  const names = elements.map(each => {
    if (each.type === bsonType.string) return each.value
    throw typeMismatch(
      `array '${property}' ${within} can only contain strings, but found element of type: ${typeName(each.type)}`,
    )
  })
  const seen = new Set<string>()
  const duplicate = names.find(name => seen.size === seen.add(name).size)
  if (duplicate === undefined) return names
  throw failedToParse(`array '${property}' ${within} contains duplicate element: ${duplicate}`)
}

const logical: KeywordParser = (parser, value, keyword) => {
  if (value.type !== bsonType.array) throw must(keyword, 'an array')
  if (value.elements.length === 0) throw badValue(`$jsonSchema keyword '${keyword}' must be a non-empty array`)
  const of = value.elements.map(each => {
    if (each.type === bsonType.document) return parser.nested(each, true)
    throw must(keyword, `an array of objects, but found an element of type ${typeCode(each)}`)
  })
  const kind = keyword as 'allOf' | 'anyOf' | 'oneOf'
  return [{ kind, ...written(keyword, value), of, test: logicalTest(kind, of) }]
}

function logicalTest(kind: 'allOf' | 'anyOf' | 'oneOf', of: readonly Schema[]): Schema['test'] {
  switch (kind) {
    case 'allOf':
      return (bytes, type, start) => of.every(({ test }) => test(bytes, type, start))
    case 'anyOf':
      return (bytes, type, start) => of.some(({ test }) => test(bytes, type, start))
    case 'oneOf':
      return oneOfTest(of)
  }
}

const not: KeywordParser = (parser, value, keyword) => {
  if (value.type !== bsonType.document) {
    throw must(keyword, `an object, but found an element of type ${typeCode(value)}`)
  }
  const { test } = parser.nested(value, true)
  return [{ kind: 'not', ...written(keyword, value), test: (bytes, type, start) => !test(bytes, type, start) }]
}

/** Making the identity of a number takes half a microsecond; of a document, as much for every ten bytes. */
const enumeratedSteps = 25

function bytesIn(value: Value): number {
  const raw = value.type === bsonType.document || value.type === bsonType.array ? value.raw : undefined
  return raw === undefined ? 0 : 2 * (raw.end - raw.start)
}

const enumerated: KeywordParser = (_, value, keyword) => {
  if (value.type !== bsonType.array) throw must(keyword, `an array, but found an element of type ${typeCode(value)}`)
  if (value.elements.length === 0) throw failedToParse(`$jsonSchema keyword '${keyword}' cannot be an empty array`)
  const known = new Set<string>()
  for (const each of value.elements) {
    spend(enumeratedSteps + bytesIn(each))
    known.add(unorderedIdentity(each))
  }
  if (known.size < value.elements.length) {
    throw failedToParse(`$jsonSchema keyword '${keyword}' array cannot contain duplicate values.`)
  }
  const test: Schema['test'] = (bytes, type, start) =>
    type !== 0 && known.has(unorderedIdentity(valueAt(bytes, type, start)))
  return [{ kind: 'enum', ...written(keyword, value), test }]
}

const parsers: ReadonlyMap<string, KeywordParser> = new Map([
  ['description', annotation],
  ['title', annotation],
  ['pattern', pattern],
  ['maxLength', stringLength],
  ['minLength', stringLength],
  ['multipleOf', multipleOf],
  ['maximum', bound('exclusiveMaximum', ['lte', 'lt'])],
  ['exclusiveMaximum', beside('maximum')],
  ['minimum', bound('exclusiveMinimum', ['gte', 'gt'])],
  ['exclusiveMinimum', beside('minimum')],
  ['minItems', itemCount],
  ['maxItems', itemCount],
  ['uniqueItems', uniqueItems],
  ['items', items],
  ['additionalItems', additionalItems],
  ['properties', properties],
  ['patternProperties', parser => otherProperties(parser)],
  [
    'additionalProperties',
    parser => (parser.keyword('patternProperties') === undefined ? otherProperties(parser) : []),
  ],
  ['required', required],
  ['minProperties', propertyCount],
  ['maxProperties', propertyCount],
  ['dependencies', dependencies],
  ['allOf', logical],
  ['anyOf', logical],
  ['oneOf', logical],
  ['not', not],
  ['enum', enumerated],
])

const keywords: ReadonlySet<string> = new Set([...parsers.keys(), 'type', 'bsonType'])
