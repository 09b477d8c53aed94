/**
 * Query errors and their positions, in the form of the service.
 *
 * The message is the JSON text that the service puts into its 400 answers; clients print it, and some parse
 * it. Positions are offsets in UTF-16 units, as in the service; line and column are for people.
 */

import { RequestError, type RequestErrorKind } from '../../base/error.ts'

/** A half-open range of the query text. */
export interface Span {
  readonly start: number
  readonly end: number
}

export interface Diagnostic {
  /** SC1001 and so on. A few old codes of the service are numbers without prefix. */
  readonly code: string | number
  readonly message: string
  readonly span?: Span
}

export class QueryError extends RequestError {
  readonly diagnostics: readonly Diagnostic[]
  /** Position of the first diagnostic, counted from 1; 0 if it has none. */
  readonly line: number
  readonly column: number

  constructor(kind: RequestErrorKind, text: string, diagnostics: readonly Diagnostic[]) {
    super(kind, toServiceJson(diagnostics))
    this.diagnostics = diagnostics
    const span = diagnostics[0]?.span
    this.line = span === undefined ? 0 : lineAt(text, span.start)
    this.column = span === undefined ? 0 : span.start - text.lastIndexOf('\n', span.start - 1)
  }

  /** The first diagnostic, for people. */
  get sentence(): string {
    const message = shortened(this.diagnostics[0]?.message ?? this.message)
    if (this.line === 0) return message
    const line = this.line === 1 ? '' : `line ${this.line}, `
    return `${message.replace(/\.$/, '')}, at ${line}column ${this.column}.`
  }
}

/** Errors quote names from the query. These limits keep an error short, however long the query is. */
const diagnosticsMax = 20
const messageCharsMax = 500

function toServiceJson(diagnostics: readonly Diagnostic[]): string {
  const errors = diagnostics.slice(0, diagnosticsMax).map(({ code, message, span }) => ({
    severity: 'Error',
    ...(span === undefined ? {} : { location: { start: span.start, end: span.end } }),
    code,
    message: shortened(message),
  }))
  return JSON.stringify({ errors })
}

function shortened(message: string): string {
  return message.length > messageCharsMax ? `${message.slice(0, messageCharsMax)}…` : message
}

function lineAt(text: string, offset: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < offset; at = text.indexOf('\n', at + 1)) line += 1
  return line
}
