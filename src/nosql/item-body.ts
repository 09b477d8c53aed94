/**
 * An item's JSON on its way in: checked, relieved of system properties, and left as it is otherwise.
 *
 * The client's text is what is stored and what goes back on a read, with the system properties spliced in behind the last
 * property. It is parsed once, to check it and to find id, ttl and partition key, and never printed again: printing would
 * reorder integer-like names and lose what a double cannot hold.
 */

import { isUtf8 } from 'node:buffer'
import { RequestError } from '../base/error.ts'
import { itemBytesMax, nestingDepthMax } from '../base/limits.ts'
import type { TextDraft } from '../storage/port.ts'
import { parseItemTtl } from '../ttl/lifespan.ts'
import type { ContainerView } from './container-view.ts'
import { etagOf, itemRid } from './resource-id.ts'
import { checkItemId } from './resource-name.ts'

export interface ItemBody {
  readonly text: string
  readonly bytes: number
  readonly properties: Record<string, unknown>
  readonly id: string
  /** Seconds, -1, or undefined to inherit. */
  readonly ttl: number | undefined
}

const systemProperties = new Set(['_rid', '_self', '_etag', '_attachments', '_ts'])

export function parseItemBody(body: Buffer, options: { strict: boolean }): ItemBody {
  if (body.length > itemBytesMax) throw new RequestError('too_large', 'Request size is too large')
  const text = decodeJson(body)
  const parsed = parseJson(text)
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new RequestError('malformed', invalidJson)
  const properties = parsed as Record<string, unknown>
  const id = checkItemId(own(properties, 'id'))
  const ttl = parseItemTtl(own(properties, 'ttl'), options)
  let hasSystemProperty = false
  for (const name of systemProperties) hasSystemProperty ||= Object.hasOwn(properties, name)
  return { text: hasSystemProperty ? withoutSystemProperties(text) : text, bytes: body.length, properties, id, ttl }
}

/** JSON of any kind, its depth bounded so that nothing that walks it later can run out of stack. */
export function parseJson(text: string): unknown {
  checkDepth(text)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RequestError('malformed', invalidJson, { cause: error })
  }
}

export function decodeJson(body: Buffer): string {
  if (!isUtf8(body)) throw new RequestError('malformed', invalidJson)
  return body.toString('utf8')
}

const invalidJson =
  'The request payload is invalid. Ensure to provide a valid request payload: it must be one JSON object in UTF-8.'

/** The text with its gaps for what the store will know; `fill` in the store joins them. */
export function itemDraft(view: ContainerView, { text }: ItemBody): TextDraft {
  const end = text.lastIndexOf('}')
  return {
    texts: [
      `${text.slice(0, end).trimEnd()},"_rid":"`,
      `","_self":"${view.self}docs/`,
      '/","_etag":"\\"',
      '\\"","_attachments":"attachments/","_ts":',
      '}',
    ],
    stamps: stampsOf(view),
  }
}

const stamps = new WeakMap<ContainerView, TextDraft['stamps']>()

function stampsOf(view: ContainerView): TextDraft['stamps'] {
  let found = stamps.get(view)
  if (found === undefined) {
    const { record } = view
    const rid = { name: 'sequence', print: (sequence: number) => itemRid(record, sequence) } as const
    const etag = { name: 'version', print: (version: number) => etagOf(record.rid, version) } as const
    found = [rid, rid, etag, { name: 'ts', print: String }]
    stamps.set(view, found)
  }
  return found
}

function own(properties: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}

const quote = 0x22
const backslash = 0x5c
const comma = 0x2c
const openBracket = 0x5b
const closeBracket = 0x5d
const openBrace = 0x7b
const closeBrace = 0x7d

/** Behind the string that begins at `start`. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === backslash) at++
    else if (unit === quote) return at + 1
  }
  return text.length
}

/** JSON.parse does not care how deep its input is nested, but everything that walks the result would. */
function checkDepth(text: string): void {
  if (!mayBeTooDeep(text)) return
  let depth = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) at = endOfString(text, at) - 1
    else if (unit === openBrace || unit === openBracket) depth++
    else if (unit === closeBrace || unit === closeBracket) depth--
    if (depth > nestingDepthMax) {
      throw new RequestError('malformed', `The JSON is nested deeper than the ${nestingDepthMax} levels allowed.`)
    }
  }
}

/** Text with few opening brackets cannot be deep; finding them natively is far cheaper than walking. */
function mayBeTooDeep(text: string): boolean {
  let found = 0
  for (const bracket of ['{', '[']) {
    for (let at = text.indexOf(bracket); at !== -1; at = text.indexOf(bracket, at + 1)) {
      if (++found > nestingDepthMax) return true
    }
  }
  return false
}

/** Cuts the top-level properties that the system owns out of valid JSON text; everything else stays as it is. */
function withoutSystemProperties(text: string): string {
  const kept: string[] = []
  let depth = 0
  let start = text.indexOf('{') + 1
  const keep = (end: number) => {
    const property = text.slice(start, end)
    const from = property.indexOf('"')
    if (from === -1) return
    const name = JSON.parse(property.slice(from, endOfString(property, from)))
    if (!systemProperties.has(name)) kept.push(property)
  }
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === quote) at = endOfString(text, at) - 1
    else if (unit === openBrace || unit === openBracket) depth++
    else if (unit === comma && depth === 0) {
      keep(at)
      start = at + 1
    } else if (unit === closeBrace || unit === closeBracket) {
      if (depth === 0) {
        keep(at)
        break
      }
      depth--
    }
  }
  return `{${kept.join(',')}}`
}
