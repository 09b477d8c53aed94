/** Makes the index keys of items of either API: a body says by its form which one wrote it. */

import { bsonKeyMaker } from '../document/bson/index-keys.ts'
import { jsonIndexKeys, type KeyMaker } from '../document/index-keys.ts'
import { partialFilter } from '../mql/filter/partial-index.ts'

export const bsonIndexKeys: KeyMaker = bsonKeyMaker(partialFilter)

export const indexKeysOf: KeyMaker = (definitions, body) =>
  typeof body === 'string' ? jsonIndexKeys(definitions, body) : bsonIndexKeys(definitions, body)
