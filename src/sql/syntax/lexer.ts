/** Splits query text into tokens, one at a time, without regular expressions and without backtracking. */

import { QueryError, type Span } from './diagnostic.ts'
import { exactKeywords, keywords, signs, type Token } from './token.ts'

const signsByFirstCharacter = new Map<string, readonly string[]>()
for (const sign of signs) {
  const first = sign.charAt(0)
  signsByFirstCharacter.set(first, [...(signsByFirstCharacter.get(first) ?? []), sign])
}

const escapes: Readonly<Record<string, string>> = {
  '"': '"',
  "'": "'",
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
}

export class Lexer {
  readonly text: string
  #at = 0

  constructor(text: string) {
    this.text = text
  }

  next(): Token {
    this.#skipBlanks()
    const start = this.#at
    if (start >= this.text.length) return { type: 'end', value: undefined, start, end: start }
    const code = this.text.charCodeAt(start)
    if (isWordStart(code)) return this.#word(start)
    if (isDigit(code)) return this.#number(start)
    if (code === dot && isDigit(this.text.charCodeAt(start + 1))) return this.#number(start)
    if (code === doubleQuote || code === singleQuote) return this.#string(start, code)
    if (code === atSign) return this.#parameter(start)
    return this.#sign(start)
  }

  #skipBlanks(): void {
    const { text } = this
    for (;;) {
      const code = text.charCodeAt(this.#at)
      if (code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09 || code === 0xa0 || code === 0xfeff) {
        this.#at += 1
      } else if (code === dash && text.charCodeAt(this.#at + 1) === dash) {
        const lineEnd = text.indexOf('\n', this.#at)
        this.#at = lineEnd === -1 ? text.length : lineEnd + 1
      } else {
        return
      }
    }
  }

  #wordEnd(from: number): number {
    let end = from
    while (isWordPart(this.text.charCodeAt(end))) end += 1
    return end
  }

  #word(start: number): Token {
    const end = this.#wordEnd(start + 1)
    this.#at = end
    const value = this.text.slice(start, end)
    if (exactKeywords.has(value)) return { type: value, value, start, end }
    const capitals = value.toUpperCase()
    return { type: keywords.has(capitals) ? capitals : 'identifier', value, start, end }
  }

  #parameter(start: number): Token {
    const end = this.#wordEnd(start + 1)
    if (end === start + 1) throw this.#invalid('token', { start, end })
    this.#at = end
    return { type: 'parameter', value: this.text.slice(start, end), start, end }
  }

  #number(start: number): Token {
    const { text } = this
    let end = start
    const skipDigits = () => {
      while (isDigit(text.charCodeAt(end))) end += 1
    }
    skipDigits()
    if (text.charCodeAt(end) === dot) {
      end += 1
      skipDigits()
    }
    if (text[end] === 'e' || text[end] === 'E') {
      const mantissaEnd = end
      end += text[end + 1] === '+' || text[end + 1] === '-' ? 2 : 1
      if (isDigit(text.charCodeAt(end))) skipDigits()
      else end = mantissaEnd
    }
    this.#at = end
    const value = Number(text.slice(start, end))
    // JSON has no infinity, so a literal that overflows could be neither compared nor returned.
    if (!Number.isFinite(value)) throw this.#invalid('numeric value token', { start, end })
    const token = { type: 'number', value, start, end }
    if (value <= Number.MAX_SAFE_INTEGER || value > int64Magnitude || !isAllDigits(text, start, end)) return token
    const integer = BigInt(text.slice(start, end))
    return integer === BigInt(value) ? token : { ...token, integer }
  }

  #string(start: number, quote: number): Token {
    const { text } = this
    let value = ''
    let copied = start + 1
    for (let at = start + 1; at < text.length; at += 1) {
      const code = text.charCodeAt(at)
      if (code === quote) {
        this.#at = at + 1
        return { type: 'string', value: value + text.slice(copied, at), start, end: at + 1 }
      }
      if (code !== backslash) continue
      value += text.slice(copied, at)
      const escaped = this.#escape(start, at)
      value += escaped.character
      at += escaped.length - 1
      copied = at + 1
    }
    throw this.#invalid('string literal token', { start, end: text.length })
  }

  #escape(start: number, at: number): { character: string; length: number } {
    const letter = this.text.charAt(at + 1)
    if (letter === 'u') {
      const digits = this.text.slice(at + 2, at + 6)
      if (digits.length === 4 && isHexadecimal(digits)) {
        return { character: String.fromCharCode(Number.parseInt(digits, 16)), length: 6 }
      }
    } else if (Object.hasOwn(escapes, letter)) {
      return { character: escapes[letter] as string, length: 2 }
    }
    throw this.#invalid('string literal token', { start, end: Math.min(at + 2, this.text.length) })
  }

  #sign(start: number): Token {
    for (const sign of signsByFirstCharacter.get(this.text.charAt(start)) ?? []) {
      if (!this.text.startsWith(sign, start)) continue
      this.#at = start + sign.length
      return { type: sign, value: undefined, start, end: this.#at }
    }
    throw this.#invalid('token', { start, end: start + 1 })
  }

  #invalid(what: string, span: Span): QueryError {
    const shown = this.text.slice(span.start, Math.min(span.end, span.start + 64))
    return new QueryError('syntax', this.text, [
      { code: 'SC1010', message: `Syntax error, invalid ${what} '${shown}'.`, span },
    ])
  }
}

const doubleQuote = 0x22
const singleQuote = 0x27
const dash = 0x2d
const dot = 0x2e
const atSign = 0x40
const backslash = 0x5c

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

/** Larger integers are no 64-bit integers, so nothing needs their last digits. */
const int64Magnitude = 2 ** 63

function isAllDigits(text: string, start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (!isDigit(text.charCodeAt(at))) return false
  return true
}

function isWordStart(code: number): boolean {
  return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || code === 0x5f
}

function isWordPart(code: number): boolean {
  return isWordStart(code) || isDigit(code)
}

function isHexadecimal(digits: string): boolean {
  for (const digit of digits) if (!'0123456789abcdefABCDEF'.includes(digit)) return false
  return true
}
