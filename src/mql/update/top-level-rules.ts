/** What update operators may not do to top-level fields: change `_id`, or set names that begin with `$`. */

import { MongoError } from '../errors/mongo-error.ts'
import { fieldAt, isSame, type UpdateContext } from './modifier.ts'
import type { FieldsNode, UpdateNode } from './modifier-tree.ts'
import { checkDollars, idOf } from './replacement.ts'

export function refuseTopChanges(
  root: FieldsNode,
  before: Uint8Array,
  after: Uint8Array,
  { isInsert }: UpdateContext,
): void {
  for (const { name, node } of root.sorted) {
    if (name === '_id') refuseOtherId(node, before, after)
    // An insert may use such names.
    if (!name.startsWith('$') || isInsert) continue
    const isNew = fieldAt(before, 0, Buffer.from(name)) === undefined
    if (isNew || node.kind === 'modifier') checkDollars(after, each => each === name)
  }
}

function refuseOtherId(node: UpdateNode, before: Uint8Array, after: Uint8Array): void {
  const [kept, id] = [idOf(before), idOf(after)]
  if (kept === undefined || (id !== undefined && isSame(kept, id))) return
  throw new MongoError(
    66,
    `Performing an update on the path '${firstPath('_id', node)}' would modify the immutable field '_id'`,
  )
}

function firstPath(path: string, node: UpdateNode): string {
  if (node.kind === 'modifier') return path
  const [first] = node.kind === 'fields' ? node.sorted.map(child => [child.name, child.node] as const) : node.children
  return first === undefined ? path : firstPath(`${path}.${first[0]}`, first[1])
}
