/** The values that `distinct` sees in a document: those at the path, and of an array its elements. */

import { bsonType } from '../../document/bson/types.ts'
import { type Value, valueAt } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { documentTest, pathTest } from '../../mql/paths/stored-path.ts'

export function distinctValues(path: string): (document: Uint8Array) => Value[] {
  let found: Value[] = []
  const look = (bytes: Uint8Array, type: number, start: number): boolean => {
    if (type === bsonType.array) {
      const cursor = new ElementCursor(bytes, start)
      while (cursor.next()) found.push(valueAt(bytes, cursor.type, cursor.valueStart))
    } else if (type !== 0) {
      found.push(valueAt(bytes, type, start))
    }
    // Never content, so that it is shown everything.
    return false
  }
  const visit = documentTest(pathTest(path, look, { entersLastArray: false }))
  return document => {
    found = []
    visit(document, 0, undefined)
    return found
  }
}
