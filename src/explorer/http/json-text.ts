/** Prints answers. JSON that is text already goes in as it is: parsing it would round its numbers. */

export class RawJson {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

/** Like JSON.stringify for plain data; fields that are undefined are left out. */
export function printJson(value: unknown): string {
  const parts: string[] = []
  print(value, parts)
  return parts.join('')
}

function print(value: unknown, parts: string[]): void {
  if (value instanceof RawJson) {
    parts.push(value.text)
  } else if (Array.isArray(value)) {
    parts.push('[')
    for (const [at, element] of value.entries()) {
      if (at > 0) parts.push(',')
      print(element, parts)
    }
    parts.push(']')
  } else if (typeof value === 'object' && value !== null) {
    let isFirst = true
    parts.push('{')
    for (const [name, field] of Object.entries(value)) {
      if (field === undefined) continue
      parts.push(isFirst ? '' : ',', JSON.stringify(name), ':')
      print(field, parts)
      isFirst = false
    }
    parts.push('}')
  } else {
    parts.push(JSON.stringify(value) ?? 'null')
  }
}
