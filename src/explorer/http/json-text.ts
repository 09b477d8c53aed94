/** Prints answers. JSON that is text already goes in as it is: parsing it would round its numbers. */

import { type Steps, withoutTurns } from '../../base/steps.ts'
import { quoteInSteps } from '../../document/long-text.ts'

export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Like JSON.stringify for plain data; fields that are undefined are left out. */
export function printJson(value: unknown): string {
  return withoutTurns(jsonPartsInSteps(value)).join('')
}

/** The parts of the text. */
export function* jsonPartsInSteps(value: unknown): Steps<string[]> {
  const parts: string[] = []
  yield* print(value, parts)
  return parts
}

function* print(value: unknown, parts: string[]): Steps<void> {
  if (value instanceof RawJson) {
    parts.push(value.text)
  } else if (Array.isArray(value)) {
    parts.push('[')
    for (const [at, element] of value.entries()) {
      if (at > 0) parts.push(',')
      yield* print(element, parts)
      yield
    }
    parts.push(']')
  } else if (typeof value === 'object' && value !== null) {
    let isFirst = true
    parts.push('{')
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue
      parts.push(isFirst ? '' : ',', JSON.stringify(name), ':')
      yield* print(field, parts)
      isFirst = false
    }
    parts.push('}')
  } else {
    parts.push(typeof value === 'string' ? yield* quoteInSteps(value) : (JSON.stringify(value) ?? 'null'))
  }
}
