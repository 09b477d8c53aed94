/**
 * An item's JSON on its way in: checked, relieved of system properties, and left as it is otherwise.
 *
 * The client's text is what is stored and what goes back on a read, with the system properties spliced in behind the last
 * property. It is never printed again: printing would reorder integer-like names and lose what a double cannot hold.
 */

import { isAscii, isUtf8 } from 'node:buffer'
import { RequestError } from '../../base/error.ts'
import { nestingDepthMax } from '../../base/limits.ts'
import type { StampGap, TextDraft } from '../../store/port.ts'
import { parseItemTtl } from '../../ttl/lifespan.ts'
import { checkItemId } from '../definitions/resource-name.ts'
import type { ContainerView } from '../http/container-view.ts'
import { etagForm, etagOf, itemRid, itemRidForm } from '../http/resource-id.ts'
import { depthOf, membersOf } from '../json/json-text.ts'

export interface ItemBody {
  readonly text: string
  readonly bytes: number
  readonly properties: Record<string, unknown>
  readonly id: string
  /** Seconds, -1, or undefined to inherit. */
  readonly ttl: number | undefined
}

/** What the system adds to an item; nobody else writes it. */
export const systemProperties: ReadonlySet<string> = new Set(['_rid', '_self', '_etag', '_attachments', '_ts'])

/** An item whose text has been parsed already. */
export function readItemText(text: string, parsed: unknown, bytes: number, options: { strict: boolean }): ItemBody {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new RequestError('malformed', invalidJson)
  const properties = parsed as Record<string, unknown>
  const id = checkItemId(own(properties, 'id'))
  const ttl = parseItemTtl(own(properties, 'ttl'), options)
  let hasSystemProperty = false
  for (const name of systemProperties) hasSystemProperty ||= Object.hasOwn(properties, name)
  return { text: hasSystemProperty ? withoutSystemProperties(text) : text, bytes, properties, id, ttl }
}

/** JSON of any kind, its depth bounded so that nothing that walks it later can run out of stack. */
export function parseJson(text: string): unknown {
  checkDepth(text)
  return parseAnyDepth(text)
}

/** For those who mind the depth themselves. */
export function parseAnyDepth(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RequestError('malformed', invalidJson, { cause: error })
  }
}

export function decodeJson(body: Buffer): string {
  // A fourth of the time for what is most common.
  if (isAscii(body)) return body.toString('latin1')
  checkUtf8(body)
  return body.toString('utf8')
}

export function checkUtf8(body: Buffer): void {
  if (!isUtf8(body)) refuseJson()
}

export function refuseJson(): never {
  throw new RequestError('malformed', invalidJson)
}

const invalidJson =
  'The request payload is invalid. Ensure to provide a valid request payload: it must be one JSON object in UTF-8.'

/** An operation of a batch that should have had an item with it. */
export function missingBody(): RequestError {
  return new RequestError('malformed', invalidJson)
}

/** The text with its gaps for what the store will know; `fill` in the store joins them. */
export function itemDraft(view: ContainerView, { text }: Pick<ItemBody, 'text'>): TextDraft {
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
    const rid: StampGap = {
      name: 'sequence',
      print: sequence => itemRid(record, sequence),
      form: itemRidForm(record),
    }
    const etag: StampGap = {
      name: 'version',
      print: version => etagOf(record.rid, version),
      form: etagForm(record.rid),
    }
    found = [rid, rid, etag, { name: 'ts', print: String, form: { before: '', number: 'decimal' } }]
    stamps.set(view, found)
  }
  return found
}

function own(properties: Record<string, unknown>, name: string): unknown {
  return Object.hasOwn(properties, name) ? properties[name] : undefined
}

/** JSON.parse does not care how deep its input is nested, but everything that walks the result would. */
function checkDepth(text: string): void {
  if (mayBeTooDeep(text) && depthOf(text, nestingDepthMax) > nestingDepthMax) refuseTooDeep()
}

export function refuseTooDeep(): never {
  throw new RequestError('malformed', `The JSON is nested deeper than the ${nestingDepthMax} levels allowed.`)
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
  const kept = membersOf(text).filter(({ name }) => !systemProperties.has(name))
  return `{${kept.map(member => member.text).join(',')}}`
}
