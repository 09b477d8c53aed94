/**
 * Checks the JSON of an incoming item and removes system properties. Otherwise the text stays as it is.
 *
 * The client's text is stored and returned on reads, with the system properties inserted after the last
 * property. It is never printed again: that would reorder integer-like names and lose digits that a double
 * cannot hold.
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

/** Properties that only the system writes. */
export const systemProperties: ReadonlySet<string> = new Set(['_rid', '_self', '_etag', '_attachments', '_ts'])

/** Reads an item whose text is parsed already. */
export function readItemText(text: string, parsed: unknown, bytes: number, options: { strict: boolean }): ItemBody {
  if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed))
    throw new RequestError('malformed', invalidJson)
  const properties = parsed as Record<string, unknown>
  const id = checkItemId(own(properties, 'id'))
  const ttl = parseItemTtl(own(properties, 'ttl'), options)
  let hasSystemProperty = false
  for (const name of systemProperties) hasSystemProperty ||= Object.hasOwn(properties, name)
  return { text: hasSystemProperty ? withoutMembers(text, systemProperties) : text, bytes, properties, id, ttl }
}

/** The text with gaps for values that only the store knows; the store's `fill` closes them. */
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

/** Removes top-level members from valid JSON text. Everything else stays as it is. */
export function withoutMembers(text: string, names: ReadonlySet<string>): string {
  const kept = membersOf(text).filter(({ name }) => !names.has(name))
  return `{${kept.map(member => member.text).join(',')}}`
}
