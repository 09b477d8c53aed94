/**
 * The tokens of the query language.
 *
 * A token's type is the sign itself, the keyword in capitals, or one of the open classes (`identifier`,
 * `number`, `string`, `parameter`, `end`). So the parser reads like the grammar.
 */

import type { Span } from './diagnostic.ts'

export interface Token extends Span {
  readonly type: string
  /** The text of a string, the value of a number, the name of an identifier or parameter (with its @). */
  readonly value: string | number | undefined
  /** The exact value of an integer that a number cannot hold. */
  readonly integer?: bigint
}

/**
 * Reserved words. They are not identifiers: `c.order` is a syntax error in the service too; write
 * `c["order"]`. ALL, FIRST, LAST, LET, RANK, LEFT and RIGHT are not here, because the grammar allows them as
 * names.
 */
export const keywords: ReadonlySet<string> = new Set(
  (
    'AND ARRAY AS ASC BETWEEN BY DESC DISTINCT ESCAPE EXISTS FROM GROUP IN JOIN LIKE LIMIT NOT OFFSET OR ORDER ' +
    'SELECT TOP VALUE WHERE'
  ).split(' '),
)

/** Reserved in exactly this spelling; `True` is an identifier. */
export const exactKeywords: ReadonlySet<string> = new Set(['true', 'false', 'null', 'undefined', 'udf'])

/** Longest first, so that `>>>` is not read as `>>` and `>`. */
export const signs: readonly string[] = [
  ...['>>>', '!=', '<>', '<=', '>=', '<<', '>>', '||', '??'],
  ...['(', ')', '[', ']', '{', '}', ',', '.', ':', '?', '*', '/', '%', '+', '-', '&', '^', '|', '~', '=', '<', '>'],
]
