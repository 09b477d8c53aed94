/** Writes of small items, for tests of stores. */

import type { ItemKey, StampGap } from '../../src/store/item.ts'
import type { ItemWrite } from '../../src/store/writing.ts'

const version: StampGap = { name: 'version', print: String, form: { before: '', number: 'decimal' } }

/** The body is the content with the item's version as `v`. */
export function put(
  kind: 'create' | 'replace' | 'upsert',
  key: ItemKey,
  { content = {}, ttl }: { content?: object; ttl?: number } = {},
): ItemWrite {
  const text = JSON.stringify({ ...content, id: key.id })
  return { kind, key, ttl, draft: { texts: [`${text.slice(0, -1)},"v":`, '}'], stamps: [version] } }
}
