/** Whether the change streams of a collection can show documents as they were before a change. */

import { BsonDocument, type Field } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { Engine } from '../../engine/engine.ts'
import { encodeFields } from '../answers/fields.ts'
import { fromBase64, toBase64 } from './collection-definition.ts'
import { type Collection, changeCollection, collectionOf } from './collections.ts'

const optionName = 'changeStreamPreAndPostImages'

export async function changePreImages(engine: Engine, collection: Collection, isEnabled: boolean): Promise<void> {
  await changeCollection(engine, collection, current => {
    const { definition } = collectionOf(current)
    const others = fromBase64(definition.options).fields.filter(([name]) => name !== optionName)
    const option: Field = [optionName, BsonDocument.view(encodeFields({ enabled: isEnabled }))]
    const options = BsonDocument.view(encodeDocument([...others, option]))
    return { definition: { ...definition, options: toBase64(options) } }
  })
}
