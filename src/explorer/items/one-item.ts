/** One item with everything: its text for the editor, its system properties, and why it lives or died. */

import { printExtendedJson } from '../../document/bson/extended-json.ts'
import { parseExtendedDocument } from '../../document/bson/parse-extended-json.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { layOutJson } from '../../document/json-layout.ts'
import type { ListedItem } from '../../engine/item-lives.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { RawJson } from '../http/json-text.ts'
import type { ExplorerService } from '../service/service.ts'
import { showRow } from './rows.ts'

const systemNames: ReadonlySet<string> = new Set(['_rid', '_self', '_etag', '_attachments', '_ts'])

/** undefined: there is none, alive or dead. */
export async function showItem(
  { engine }: ExplorerService,
  container: ContainerRecord,
  key: ItemKey,
): Promise<object | undefined> {
  const item = await engine.lookAt(container, key)
  if (item === undefined) return undefined
  const { values: _, ...row } = showRow(container, item, [])
  return { ...row, ...textOfItem(container, item), explanation: await engine.reports.explain(container, key) }
}

export interface EditableText {
  readonly text: string
  readonly system: Readonly<Record<string, RawJson>>
  /** Whether saving the text would give the same bytes. */
  readonly isExact: boolean
}

export function textOfItem(
  { encoding }: Pick<ContainerRecord, 'encoding'>,
  { body }: Pick<ListedItem, 'body'>,
): EditableText {
  if (encoding === 'bson') return textOfDocument(body as Uint8Array)
  const system: Record<string, RawJson> = {}
  const text = layOutJson(body as string, {
    without: systemNames,
    onLeftOut: (name, value) => {
      system[name] = new RawJson(value)
    },
  })
  return { text, system, isExact: true }
}

/**
 * A document may hold values that extended JSON cannot express: a NaN with a payload, a field with the name
 * `$date`. Then the page must not offer to save it.
 */
function textOfDocument(bytes: Uint8Array): EditableText {
  const text = printExtendedJson(BsonDocument.view(bytes), { mode: 'editable', indent: 2 })
  let isExact = false
  try {
    isExact = Buffer.compare(encodeDocument(parseExtendedDocument(text)), bytes) === 0
  } catch {
    // A field that begins like a type, but is not one.
  }
  return { text, system: {}, isExact }
}
