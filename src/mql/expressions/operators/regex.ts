/** `$regexMatch`, `$regexFind` and `$regexFindAll`. Like RE2, they refuse backreferences and look-around. */

import { bsonType } from '../../../document/bson/types.ts'
import { BsonDocument, bool, int32, nullValue, string, type Value } from '../../../document/bson/value.ts'
import { compilePattern, InvalidPattern, matcherOf, type Pattern } from '../../../document/pattern.ts'
import { isNullish, limitedArray, namedArguments, nameOfType, optional, refuse } from '../core/define-operator.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { listOf } from './object.ts'
import { codePointsIn } from './string.ts'

interface Request {
  readonly text: string
  readonly expression: Pattern
}

interface PatternText {
  readonly pattern: string
  readonly options: string
}

/** What the three operators share. Without text or pattern the result is `empty`. */
function search(empty: Value, compute: (request: Request) => Value): CompileOperator {
  return (argument, compiler, name) => {
    if (argument.type !== bsonType.document) {
      return refuse(51103, `${name} expects an object of named arguments but found: ${nameOfType(argument)}`)
    }
    const specs = namedArguments(argument, ['input', 'regex', 'options'], unknown =>
      refuse(31024, `${name} found an unknown argument: ${unknown}`),
    )
    const input = compiler.compile(specs.input ?? refuse(31022, `${name} requires 'input' parameter`))
    const regex = compiler.compile(specs.regex ?? refuse(31023, `${name} requires 'regex' parameter`))
    const options = optional(compiler, specs.options)
    // The pattern is usually the same for all documents, so the last one is cached.
    let last: (PatternText & { readonly expression: Pattern }) | undefined
    return context => {
      const text = input(context)
      if (!isNullish(text) && text.type !== bsonType.string) refuse(51104, `${name} needs 'input' to be of type string`)
      const wanted = patternOf(regex(context), options?.(context), name)
      if (isNullish(text) || wanted === undefined) return empty
      if (last?.pattern !== wanted.pattern || last.options !== wanted.options) {
        last = { ...wanted, expression: compileWith(wanted, name) }
      }
      const characters = (text as { readonly value: string }).value
      return compute({ text: characters, expression: last.expression })
    }
  }
}

function patternOf(regex: Value | undefined, options: Value | undefined, name: string): PatternText | undefined {
  if (!isNullish(regex) && regex.type !== bsonType.string && regex.type !== bsonType.regex) {
    refuse(51105, `${name} needs 'regex' to be of type string or regex`)
  }
  if (!isNullish(options) && options.type !== bsonType.string) {
    return refuse(51106, `${name} needs 'options' to be of type string`)
  }
  const given = isNullish(options) ? undefined : options.value
  if (isNullish(regex)) return undefined
  const own = regex.type === bsonType.regex ? regex.options : ''
  if (own !== '' && given !== undefined) {
    refuse(51107, `${name}: found regex option(s) specified in both 'regex' and 'option' fields`)
  }
  const pattern = regex.type === bsonType.regex ? regex.pattern : (regex as { readonly value: string }).value
  const flags = given ?? own
  if (pattern.includes('\0')) refuse(51109, `${name}: regular expression cannot contain an embedded null byte`)
  if (flags.includes('\0')) refuse(51110, `${name}: regular expression options cannot contain an embedded null byte`)
  return { pattern, options: flags }
}

function compileWith({ pattern, options }: PatternText, name: string): Pattern {
  const [unknown] = /[^imsxu]/u.exec(options) ?? []
  if (unknown !== undefined) refuse(51108, `${name} invalid flag in regex options: ${unknown}`)
  try {
    // Text is always Unicode, so `u` changes nothing.
    return compilePattern(pattern, [...'imsx'].filter(letter => options.includes(letter)).join(''))
  } catch (error) {
    if (error instanceof InvalidPattern) refuse(51111, `Invalid Regex in ${name}: ${error.message}`)
    throw error
  }
}

interface Found {
  readonly start: number
  readonly end: number
  readonly document: BsonDocument
}

/** The first match at or after an offset. `before` is the number of code points before that offset. */
function find({ text, expression }: Request, from: number, before: number): Found | undefined {
  const matcher = matcherOf(expression, text)
  if (!matcher.find(from)) return undefined
  const [start, end] = [matcher.start(), matcher.end()]
  const captures: Value[] = []
  for (let group = 1; group <= matcher.groupCount(); group += 1) {
    const captured = matcher.group(group)
    captures.push(captured === null ? nullValue : string(captured))
  }
  const document = BsonDocument.of([
    ['match', string(text.slice(start, end))],
    ['idx', int32(before + codePointsIn(text.slice(from, start)))],
    ['captures', listOf(captures)],
  ])
  return { start, end, document }
}

function findAll(request: Request): Value {
  const { text } = request
  const matches: Value[] = []
  let at = 0
  let codePoints = 0
  do {
    const found = find(request, at, codePoints)
    if (found === undefined) break
    matches.push(found.document)
    const isEmpty = found.end === found.start
    const step = isEmpty && (text.codePointAt(found.start) ?? 0) > 0xffff ? 2 : isEmpty ? 1 : 0
    codePoints += codePointsIn(text.slice(at, found.end + step))
    at = found.end + step
  } while (at < text.length)
  return limitedArray(matches)
}

export const regexOperators: OperatorFamily = {
  $regexFind: search(nullValue, request => find(request, 0, 0)?.document ?? nullValue),
  $regexFindAll: search(limitedArray([]), findAll),
  $regexMatch: search(bool(false), ({ text, expression }) => bool(matcherOf(expression, text).find())),
}
