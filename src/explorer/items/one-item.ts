/** One item with everything: its text for the editor, its system properties, and why it lives or died. */

import { inSlices } from '../../base/slices.ts'
import type { Steps } from '../../base/steps.ts'
import { printInSteps } from '../../document/bson/extended-json.ts'
import { parseDocumentInSteps } from '../../document/bson/parse-extended-json.ts'
import { BsonDocument } from '../../document/bson/value.ts'
import { encodeInSteps } from '../../document/bson/writer.ts'
import { layOutInSteps } from '../../document/json-layout.ts'
import type { ListedItem } from '../../engine/item-lives.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import { RawJson } from '../http/json-text.ts'
import type { ExplorerService } from '../service/service.ts'
import { rowInSteps } from './rows.ts'

const systemNames: ReadonlySet<string> = new Set(['_rid', '_self', '_etag', '_attachments', '_ts'])

/** undefined: there is none, alive or dead. */
export async function showItem(
  { engine }: ExplorerService,
  container: ContainerRecord,
  key: ItemKey,
): Promise<object | undefined> {
  const item = await engine.lookAt(container, key)
  if (item === undefined) return undefined
  const { values: _, ...row } = await inSlices(rowInSteps(container, item, []))
  const text = await inSlices(textInSteps(container, item))
  return { ...row, ...text, explanation: await engine.reports.explain(container, key) }
}

export interface EditableText {
  readonly text: string
  readonly system: Readonly<Record<string, RawJson>>
  /** Whether saving the text would give the same bytes. */
  readonly isExact: boolean
}

export function* textInSteps(
  { encoding }: Pick<ContainerRecord, 'encoding'>,
  { body }: Pick<ListedItem, 'body'>,
): Steps<EditableText> {
  if (encoding === 'bson') return yield* documentText(body as Uint8Array)
  const system: Record<string, RawJson> = {}
  const text = yield* layOutInSteps(body as string, {
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
function* documentText(bytes: Uint8Array): Steps<EditableText> {
  const text = yield* printInSteps(BsonDocument.view(bytes), { mode: 'editable', indent: 2 })
  let isExact = false
  try {
    const again = yield* parseDocumentInSteps(text)
    isExact = Buffer.compare(yield* encodeInSteps(again), bytes) === 0
  } catch {
    // A field that begins like a type, but is not one.
  }
  return { text, system: {}, isExact }
}
