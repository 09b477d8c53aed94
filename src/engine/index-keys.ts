/** Makes the index keys of items of both APIs: a text body is JSON, a binary body is BSON. */

import { bsonKeyMaker } from '../document/bson/index-keys.ts'
import { jsonIndexKeys, type KeyMaker } from '../document/index-keys.ts'
import { partialFilter } from '../mql/filter/partial-index.ts'

export const bsonIndexKeys: KeyMaker = bsonKeyMaker(partialFilter)

export const indexKeysOf: KeyMaker = (definitions, body) =>
  typeof body === 'string' ? jsonIndexKeys(definitions, body) : bsonIndexKeys(definitions, body)
