/** Changes the options of a collection that `create` can give it and `listCollections` shows. */

import { BsonDocument, type Field } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Engine } from '../../engine/engine.ts'
import { collectionNote } from './catalog-notes.ts'
import { fromBase64, toBase64 } from './collection-definition.ts'
import { type Collection, changeCollection, collectionOf } from './collections.ts'

/** Options of the same names are replaced. The others stay. */
export async function changeOptions(
  engine: Engine,
  collection: Collection,
  optionsOf: (present: BsonDocument) => readonly Field[],
): Promise<void> {
  await changeCollection(engine, collection, current => {
    const { definition } = collectionOf(current)
    const present = fromBase64(definition.options)
    const changed = optionsOf(present)
    const others = present.fields.filter(([name]) => !changed.some(([each]) => each === name))
    const options = BsonDocument.view(encodeDocument([...others, ...changed]))
    const note = collectionNote('modify', current, { description: BsonDocument.of(changed) })
    return { definition: { ...definition, options: toBase64(options) }, notes: [note] }
  })
}
