/** Formats values for the messages of expressions. */

import type { Value } from '../../../document/bson/value.ts'
import { printValue } from '../../errors/print.ts'

/** A message should not contain a whole document. */
const charsMax = 1024

export function printForMessage(value: Value | undefined): string {
  return value === undefined ? 'MISSING' : printValue(value, charsMax)
}

export function shortened(text: string): string {
  return text.length > charsMax ? `${text.slice(0, charsMax)}...` : text
}
