/** The parser's view of the tokens: the current one, the next one, and the error for an unexpected one. */

import { queryDepthMax } from '../../base/limits.ts'
import { QueryError, type Span } from './diagnostic.ts'
import { Lexer } from './lexer.ts'
import type { Token } from './token.ts'

/**
 * Most tokens of one query. A text full of GUIDs has fewer. A text full of `1 OR 1 OR` is refused within 30
 * ms instead of blocking the event loop for longer.
 */
export const queryTokensMax = 65_536

export class TokenStream {
  readonly text: string
  readonly #lexer: Lexer
  #current: Token
  #following: Token | undefined
  #previousEnd = 0
  #depth = 0
  #tokens = 0

  constructor(text: string) {
    this.text = text
    this.#lexer = new Lexer(text)
    this.#current = this.#lexer.next()
  }

  get current(): Token {
    return this.#current
  }

  get following(): Token {
    this.#following ??= this.#lexer.next()
    return this.#following
  }

  is(type: string): boolean {
    return this.#current.type === type
  }

  /** Whether the current token is this word, which is reserved only in this position. */
  isWord(word: string): boolean {
    const { type, value } = this.#current
    return type === 'identifier' && (value as string).toUpperCase() === word
  }

  advance(): Token {
    const token = this.#current
    this.#tokens += 1
    if (this.#tokens > queryTokensMax) throw tooLong(this.text, token)
    this.#previousEnd = token.end
    this.#current = this.#following ?? this.#lexer.next()
    this.#following = undefined
    return token
  }

  accept(type: string): boolean {
    if (!this.is(type)) return false
    this.advance()
    return true
  }

  expect(type: string): Token {
    if (!this.is(type)) throw this.unexpected()
    return this.advance()
  }

  expectName(): string {
    return this.expect('identifier').value as string
  }

  spanFrom(start: number): Span {
    return { start, end: this.#previousEnd }
  }

  /** Parses a part that may contain itself, up to the depth limit. */
  nested<T>(parse: () => T): T {
    if (this.#depth >= queryDepthMax) throw tooDeep(this.text, this.#current)
    this.#depth += 1
    const result = parse()
    this.#depth -= 1
    return result
  }

  unexpected(token: Token = this.#current): QueryError {
    const message =
      token.type === 'end'
        ? 'Syntax error, unexpected end of query.'
        : `Syntax error, incorrect syntax near '` +
          `${this.text.slice(token.start, Math.min(token.end, token.start + 64))}'.`
    return new QueryError('syntax', this.text, [{ code: 'SC1001', message, span: spanOf(token) }])
  }
}

export function spanOf({ start, end }: Span): Span {
  return { start, end }
}

export function tooDeep(text: string, span: Span): QueryError {
  return new QueryError('syntax', text, [
    { code: 'SC1001', message: `The query is nested deeper than ${queryDepthMax} levels.`, span: spanOf(span) },
  ])
}

function tooLong(text: string, span: Span): QueryError {
  return new QueryError('syntax', text, [
    { code: 'SC1001', message: `The query has more than ${queryTokensMax} words and signs.`, span: spanOf(span) },
  ])
}
