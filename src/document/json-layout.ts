/**
 * Lays JSON text out for people, without parsing it into values: digits, the order of names and repeated
 * names stay as they are.
 */

import { JsonReader } from './json-reader.ts'

/** Deeper texts are refused: items nest at most 128 deep. */
const layoutDepthMax = 200

export interface JsonLayout {
  /** Members of the object itself that are left out. */
  readonly without?: ReadonlySet<string>
  /** Told of each member that is left out, as text. */
  readonly onLeftOut?: (name: string, text: string) => void
}

/** Indented by two spaces. Throws a `JsonTextError` if it is not JSON. */
export function layOutJson(text: string, layout: JsonLayout = {}): string {
  const reader = new JsonReader(text)
  const parts: string[] = []
  layOut(reader, parts, layout, 0)
  reader.end()
  return parts.join('')
}

function layOut(reader: JsonReader, parts: string[], layout: JsonLayout, depth: number): void {
  if (depth > layoutDepthMax) reader.fail(`the text is nested deeper than ${layoutDepthMax} levels`)
  const { next } = reader
  if (next === '{') layOutObject(reader, parts, layout, depth)
  else if (next === '[') {
    let count = 0
    parts.push('[')
    reader.array(() => {
      parts.push(count++ > 0 ? ',\n' : '\n', '  '.repeat(depth + 1))
      layOut(reader, parts, layout, depth + 1)
    })
    parts.push(count > 0 ? `\n${'  '.repeat(depth)}]` : ']')
  } else parts.push(scalar(reader))
}

function layOutObject(reader: JsonReader, parts: string[], layout: JsonLayout, depth: number): void {
  let count = 0
  parts.push('{')
  reader.object((name, nameAt) => {
    const { text } = reader
    if (depth === 0 && layout.without?.has(name) === true) {
      const start = reader.at
      layOut(reader, [], layout, depth + 1)
      layout.onLeftOut?.(name, text.slice(start, reader.at).trimEnd())
      return
    }
    const written = text.slice(nameAt, reader.at).replace(/\s*:\s*$/, '')
    parts.push(count++ > 0 ? ',\n' : '\n', '  '.repeat(depth + 1), written, ': ')
    layOut(reader, parts, layout, depth + 1)
  })
  parts.push(count > 0 ? `\n${'  '.repeat(depth)}}` : '}')
}

/** As it is written. */
function scalar(reader: JsonReader): string {
  const start = reader.at
  if (reader.next === '"') reader.string()
  else if (reader.word() === undefined) reader.number()
  return reader.text.slice(start, reader.at).trimEnd()
}
