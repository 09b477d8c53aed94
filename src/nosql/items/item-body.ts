/**
 * An item's JSON on its way in: checked, relieved of system properties, and left as it is otherwise.
 *
 * The client's text is what is stored and what goes back on a read, with the system properties spliced in
 * behind the last property. It is never printed again: printing would reorder integer-like names and lose
 * what a double cannot hold.
 */

import { RequestError } from '../../base/error.ts'
import type { StampGap, TextDraft } from '../../store/item.ts'
import { parseItemTtl } from '../../ttl/lifespan.ts'
import { checkItemId } from '../definitions/resource-name.ts'
import type { ContainerView } from '../http/container-view.ts'
import { etagForm, etagOf, itemRid, itemRidForm } from '../http/resource-id.ts'
import { membersOf } from '../json/json-text.ts'
import { invalidJson } from '../json/parse-json.ts'

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

/**
 * Cuts the top-level properties that the system owns out of valid JSON text; everything else stays as it is.
 */
function withoutSystemProperties(text: string): string {
  const kept = membersOf(text).filter(({ name }) => !systemProperties.has(name))
  return `{${kept.map(member => member.text).join(',')}}`
}
