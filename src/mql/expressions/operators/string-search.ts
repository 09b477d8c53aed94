/** Operators that search, replace and trim strings. */

import { finderIn, indexOf, indexOfBytes } from '../../../base/text-search.ts'
import { spend } from '../../../base/work.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { int32, nullValue, string, type Value } from '../../../document/bson/value.ts'
import {
  between,
  expressionStringCharsMax,
  int32Of,
  isNullish,
  limitedString,
  namedArguments,
  nameOfType,
  optional,
  refuse,
  refuseSize,
} from '../core/define-operator.ts'
import { printForMessage } from '../core/print-for-message.ts'
import type { CompileOperator, OperatorFamily } from '../core/scope.ts'
import { codePointsIn, endOfCharacters } from './string.ts'

/** Checks the start or end index of a search. */
export function searchIndex(value: Value | undefined, name: string, what: string): number {
  const index =
    int32Of(value) ??
    refuse(
      40096,
      `${name}requires an integral ${what}, found a value of type: ${nameOfType(value)}, with value: ` +
        `${printForMessage(value)}`,
    )
  if (index < 0) refuse(40097, `${name} requires a nonnegative ${what}, found: ${index}`)
  return index
}

interface Search {
  readonly codes: readonly [input: number, token: number]
  readonly find: (input: string, token: string, start: number, end: number | undefined) => number
}

function search({ codes, find }: Search): CompileOperator {
  return between([2, 4], ([inputOperand, tokenOperand, startOperand, endOperand], name) => context => {
    const input = inputOperand!(context)
    if (isNullish(input)) return nullValue
    if (input.type !== bsonType.string) {
      return refuse(codes[0], `${name} requires a string as the first argument, found: ${nameOfType(input)}`)
    }
    const token = tokenOperand!(context)
    if (token?.type !== bsonType.string) {
      return refuse(codes[1], `${name} requires a string as the second argument, found: ${nameOfType(token)}`)
    }
    const start = startOperand === undefined ? 0 : searchIndex(startOperand(context), name, 'starting index')
    const end = endOperand === undefined ? undefined : searchIndex(endOperand(context), name, 'ending index')
    return int32(find(input.value, token.value, start, end))
  })
}

function indexInBytes(input: string, token: string, start: number, end: number | undefined): number {
  spend((input.length + token.length) >> 4)
  const bytes = Buffer.from(input)
  const last = Math.min(end ?? bytes.length, bytes.length)
  if (start > bytes.length || last < start) return -1
  return indexOfBytes(bytes.subarray(0, last), Buffer.from(token), start)
}

/** Unlike in a search by bytes, the match must begin before the end but may extend beyond it. */
function indexInCodePoints(input: string, token: string, start: number, end: number | undefined): number {
  if (input === '' && token === '') return start === 0 ? 0 : -1
  const first = endOfCharacters(input, 0, start)
  const at = indexOf(input, token, first)
  if (at === -1 || at >= input.length) return -1
  const found = start + codePointsIn(input.slice(first, at))
  return end !== undefined && found >= end ? -1 : found
}

const blanks = new Set('\0 \t\n\v\f\r\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a')

/** MongoDB's limit for the characters to trim. */
const trimCharsMax = 4096

function trim(isLeft: boolean, isRight: boolean): CompileOperator {
  return (argument, compiler, name) => {
    if (argument.type !== bsonType.document) {
      return refuse(50696, `${name} only supports an object as an argument, found ${nameOfType(argument)}`)
    }
    const parts = namedArguments(argument, ['input', 'chars'], unknown =>
      refuse(50694, `${name} found an unknown argument: ${unknown}`),
    )
    const input = compiler.compile(parts.input ?? refuse(50695, `${name} requires an 'input' field`))
    const chars = optional(compiler, parts.chars)
    return context => {
      const value = input(context)
      if (isNullish(value)) return nullValue
      if (value.type !== bsonType.string) {
        const given = `${printForMessage(value)} (of type ${nameOfType(value)})`
        return refuse(50699, `${name} requires its input to be a string, got ${given} instead.`)
      }
      if (chars === undefined) return string(trimmed(value.value, blanks, isLeft, isRight))
      const set = chars(context)
      if (isNullish(set)) return nullValue
      if (set.type !== bsonType.string) {
        const given = `${printForMessage(set)} (of type ${nameOfType(set)})`
        return refuse(50700, `${name} requires 'chars' to be a string, got ${given} instead.`)
      }
      if (set.value.length > trimCharsMax) {
        refuse(12066800, `${name} requires 'chars' to be not greater than ${trimCharsMax} bytes`)
      }
      return string(trimmed(value.value, new Set(set.value), isLeft, isRight))
    }
  }
}

function trimmed(value: string, set: ReadonlySet<string>, isLeft: boolean, isRight: boolean): string {
  spend(value.length >> 2)
  let start = 0
  let end = value.length
  while (isLeft && start < end) {
    const character = String.fromCodePoint(value.codePointAt(start) as number)
    if (!set.has(character)) break
    start += character.length
  }
  while (isRight && start < end) {
    const isPair = end - start > 1 && (value.codePointAt(end - 2) as number) > 0xffff
    const character = value.slice(isPair ? end - 2 : end - 1, end)
    if (!set.has(character)) break
    end -= character.length
  }
  return value.slice(start, end)
}

type Replace = (input: string, find: string, replacement: string) => string

function replacement(replace: Replace): CompileOperator {
  return (argument, compiler, name) => {
    if (argument.type !== bsonType.document) {
      return refuse(51751, `${name} requires an object as an argument, found: ${nameOfType(argument)}`)
    }
    const names = ['input', 'find', 'replacement'] as const
    const parts = namedArguments(argument, names, unknown =>
      refuse(51750, `${name} found an unknown argument: ${unknown}`),
    )
    const operands = names.map((part, index) =>
      compiler.compile(parts[part] ?? refuse(51749 - index, `${name} requires '${part}' to be specified`)),
    )
    return context => {
      const values = operands.map(operand => operand(context))
      for (const [index, value] of values.entries()) {
        if (isNullish(value) || value.type === bsonType.string) continue
        refuse(51746 - index, `${name} requires that '${names[index]}' be a string, found: ${printForMessage(value)}`)
      }
      if (values.some(isNullish)) return nullValue
      const [input, find, by] = values.map(value => (value as { readonly value: string }).value)
      return limitedString(replace(input!, find!, by!))
    }
  }
}

function replaceOne(input: string, find: string, by: string): string {
  const at = indexOf(input, find)
  return at === -1 ? input : input.slice(0, at) + by + input.slice(at + find.length)
}

/** Parts that are joined into a string at once. */
const partsAtOnce = 4096

/**
 * MongoDB finds an empty string before every byte, which splits characters. Here it is found before every
 * character.
 */
function replaceAll(input: string, find: string, by: string): string {
  const next = find === '' ? (from: number) => nextCharacter(input, from) : finderIn(input, find)
  let made = ''
  let parts: string[] = []
  let start = 0
  for (let at = next(0); at !== -1; at = next(find === '' ? at + 1 : start)) {
    spend(2)
    parts.push(input.slice(start, at), by)
    start = at + find.length
    if (parts.length < partsAtOnce) continue
    made += parts.join('')
    parts = []
    if (made.length > expressionStringCharsMax) refuseSize('string')
  }
  return made + parts.join('') + input.slice(start)
}

/** The start of the first character at `from` or later, or the end of the text; -1 behind the end. */
function nextCharacter(input: string, from: number): number {
  if (from > input.length) return -1
  const isWithin = from > 0 && from < input.length && (input.codePointAt(from - 1) as number) > 0xffff
  return isWithin ? from + 1 : from
}

export const stringSearchOperators: OperatorFamily = {
  $indexOfBytes: search({ codes: [40091, 40092], find: indexInBytes }),
  $indexOfCP: search({ codes: [40093, 40094], find: indexInCodePoints }),
  $ltrim: trim(true, false),
  $replaceAll: replacement(replaceAll),
  $replaceOne: replacement(replaceOne),
  $rtrim: trim(false, true),
  $trim: trim(true, true),
}
