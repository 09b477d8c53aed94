/**
 * Applies a tree of modifiers to a document in one walk over its bytes. Untouched parts are copied.
 *
 * Fields keep their order. New fields come last, sorted by name. New array elements come at their index, with
 * nulls before them where there is a gap.
 */

import { bsonType } from '../../document/bson/types.ts'
import { ElementCursor, int32At } from '../../document/bson/view.ts'
import { BsonWriter } from '../../document/bson/writer.ts'
import { MongoError } from '../errors/mongo-error.ts'
import {
  isDocumentOrArray,
  printRawField,
  type RawValue,
  type Rename,
  removed,
  type Site,
  type UpdateContext,
  valueUnder,
} from './modifier.ts'
import {
  type Child,
  type ElementFilter,
  type ElementsNode,
  type FieldsNode,
  merged,
  type UpdateNode,
  withPosition,
} from './modifier-tree.ts'
import { locateRename } from './rename.ts'

/**
 * Most nulls that an update may put before a new element far beyond the end of an array: MongoDB's own limit,
 * 13 MB of them.
 */
const arrayPaddingMax = 1_500_000

/** A compiled update. */
export interface UpdateTree {
  readonly root: FieldsNode
  readonly filters: ReadonlyMap<string, ElementFilter>
  readonly renames: readonly Rename[]
}

/** The path from the root of the document. Only messages need it as text. */
interface Path {
  readonly parent: Path | undefined
  readonly name: string
}

/** A value on the path that cannot have the wanted field. */
interface Obstacle {
  readonly name: string
  readonly value: RawValue
  /** The part of the path that it should contain. */
  readonly part: string
}

export function applyTree(tree: UpdateTree, document: Uint8Array, context: UpdateContext): Uint8Array {
  const application = new Application(tree, document, context)
  return application.run()
}

class Application {
  readonly #tree: UpdateTree
  readonly #bytes: Uint8Array
  readonly #context: UpdateContext
  readonly #writer: BsonWriter
  readonly #moves = new Map<Rename, RawValue>()

  constructor(tree: UpdateTree, document: Uint8Array, context: UpdateContext) {
    this.#tree = tree
    this.#bytes = document
    this.#context = context
    this.#writer = new BsonWriter(document.length + 256)
    for (const rename of tree.renames) {
      const value = locateRename(rename, document)
      if (value !== undefined) this.#moves.set(rename, value)
    }
  }

  run(): Uint8Array {
    this.#writeNested(this.#tree.root, bsonType.document, 0, undefined)
    return this.#writer.bytes()
  }

  /** Writes the changed version of the document or array that begins at `start`. */
  #writeNested(node: FieldsNode, type: number, start: number, path: Path | undefined): void {
    const writer = this.#writer
    const bytes = this.#bytes
    const { position } = this.#context
    const fields = withPosition(node, position, () => textOf(path))
    const children = fields.sorted
    const indexed = type === bsonType.array ? fields.indexed(() => textOf(path)) : undefined
    const isSeen = new Uint8Array(children.length)
    const opened = writer.open()
    const cursor = new ElementCursor(bytes, start)
    let missing = children.length
    let copied = start + 4
    let count = 0
    while (missing > 0 && cursor.next()) {
      const child = indexed === undefined ? fields.named(cursor) : indexed.get(count)
      count += 1
      // Of duplicate field names, the first counts.
      if (child === undefined || isSeen[child.order] === 1) continue
      isSeen[child.order] = 1
      missing -= 1
      writer.raw(bytes, copied, cursor.nameStart - 1)
      copied = cursor.valueEnd
      this.#writeElement(child.node, cursor, indexed !== undefined, { parent: path, name: child.name })
    }
    writer.raw(bytes, copied, start + int32At(bytes, start) - 1)
    if (missing > 0) {
      const absent = children.filter(({ order }) => isSeen[order] === 0)
      if (indexed === undefined) this.#appendFields(absent, path)
      else this.#appendElements(absent, count, start, path)
    }
    writer.close(opened)
  }

  /** Writes the changed version of the element under the cursor, or nothing if it is removed. */
  #writeElement(node: UpdateNode, cursor: ElementCursor, isInArray: boolean, path: Path): void {
    const current = valueUnder(cursor)
    if (node.kind === 'modifier') {
      const changed = node.modifier.change(current, this.#site(path, isInArray))
      if (changed === removed) return
      this.#writeName(cursor, (changed ?? current).type)
      this.#writeValue(changed ?? current)
      return
    }
    if (node.kind === 'elements' && current.type !== bsonType.array) {
      throw new MongoError(2, `Cannot apply array updates to non-array element ${printRawField(path.name, current)}`)
    }
    this.#writeName(cursor, current.type)
    if (node.kind === 'elements') {
      this.#writeChosenElements(node, current.start, path)
    } else if (isDocumentOrArray(current.type)) {
      this.#writeNested(node, current.type, current.start, path)
    } else {
      this.#writeValue(current)
      for (const child of withPosition(node, this.#context.position, () => textOf(path)).sorted) {
        const obstacle = { name: path.name, value: current, part: child.name }
        this.#created(child.node, { parent: path, name: child.name }, obstacle)
      }
    }
  }

  /** Writes the type and the unchanged name of an element. */
  #writeName({ bytes, nameStart, valueStart }: ElementCursor, type: number): void {
    this.#writer.byte(type)
    this.#writer.raw(bytes, nameStart, valueStart)
  }

  #writeValue({ bytes, start, end }: RawValue): void {
    this.#writer.raw(bytes, start, end)
  }

  #writeChosenElements(node: ElementsNode, start: number, path: Path): void {
    const writer = this.#writer
    const bytes = this.#bytes
    const opened = writer.open()
    const cursor = new ElementCursor(bytes, start)
    /** Merged nodes, cached by the names of the filters that chose the same element. */
    const mergedNodes = new Map<string, UpdateNode>()
    let copied = start + 4
    for (let index = 0; cursor.next(); index += 1) {
      const names: string[] = []
      const element = valueUnder(cursor)
      for (const name of node.children.keys()) {
        if (name === '' || this.#tree.filters.get(name)!(element)) names.push(name)
      }
      if (names.length === 0) continue
      const elementPath = { parent: path, name: String(index) }
      const filterNames = names.join()
      let chosen = mergedNodes.get(filterNames)
      if (chosen === undefined) {
        const nodes = names.map(name => node.children.get(name)!)
        chosen = nodes.reduce((left, right) => merged(left, right, () => textOf(elementPath)))
        mergedNodes.set(filterNames, chosen)
      }
      writer.raw(bytes, copied, cursor.nameStart - 1)
      copied = cursor.valueEnd
      this.#writeElement(chosen, cursor, true, elementPath)
    }
    writer.raw(bytes, copied, start + int32At(bytes, start) - 1)
    writer.close(opened)
  }

  #appendFields(children: readonly Child[], path: Path | undefined): void {
    for (const { name, node } of children) {
      const value = this.#created(node, { parent: path, name }, undefined)
      if (value === undefined) continue
      this.#writer.name(value.type, name)
      this.#writeValue(value)
    }
  }

  #appendElements(children: readonly Child[], length: number, start: number, path: Path | undefined): void {
    let count = length
    for (const { name, node, index } of children.toSorted((left, right) => left.index - right.index)) {
      const array = { type: bsonType.array, bytes: this.#bytes, start, end: start + int32At(this.#bytes, start) }
      const obstacle = index === -1 ? { name: path!.name, value: array, part: name } : undefined
      const value = this.#created(node, { parent: path, name }, obstacle)
      if (value === undefined) continue
      if (index - count > arrayPaddingMax) {
        throw new MongoError(34, `can't backfill more than ${arrayPaddingMax} elements`)
      }
      for (; count < index; count += 1) this.#writer.name(bsonType.null, String(count))
      this.#writer.name(value.type, String(index))
      this.#writeValue(value)
      count += 1
    }
  }

  /** The value that a node creates where there is none. Missing parents always become documents. */
  #created(node: UpdateNode, path: Path, obstacle: Obstacle | undefined): RawValue | undefined {
    if (node.kind === 'modifier') {
      const { modifier } = node
      if (modifier.whenMissing === 'ignore') return undefined
      const value = modifier.whenMissing === 'create' ? modifier.create(this.#site(path, false)) : undefined
      if (obstacle !== undefined && (value !== undefined || modifier.whenMissing === 'traverse')) {
        throw value === undefined ? untraversable(path, obstacle) : uncreatable(obstacle)
      }
      return value
    }
    if (node.kind === 'elements') {
      throw new MongoError(2, `The path '${textOf(path)}' must exist in the document in order to apply array updates.`)
    }
    let writer: BsonWriter | undefined
    for (const { name, node: child } of withPosition(node, this.#context.position, () => textOf(path)).sorted) {
      const value = this.#created(child, { parent: path, name }, obstacle)
      if (value === undefined) continue
      if (writer === undefined) {
        writer = new BsonWriter()
        writer.open()
      }
      writer.name(value.type, name)
      writer.raw(value.bytes, value.start, value.end)
    }
    if (writer === undefined) return undefined
    writer.close(0)
    const bytes = writer.bytes()
    return { type: bsonType.document, bytes, start: 0, end: bytes.length }
  }

  #site(path: Path, isInArray: boolean): Site {
    return {
      document: this.#bytes,
      context: this.#context,
      isInArray,
      path: () => textOf(path),
      moved: rename => this.#moves.get(rename),
    }
  }
}

function textOf(path: Path | undefined): string {
  const names: string[] = []
  for (let at = path; at !== undefined; at = at.parent) names.push(at.name)
  return names.reverse().join('.')
}

function uncreatable({ name, value, part }: Obstacle): MongoError {
  return new MongoError(28, `Cannot create field '${part}' in element {${printRawField(name, value)}}`)
}

function untraversable(path: Path, { name, value, part }: Obstacle): MongoError {
  return new MongoError(
    28,
    `Cannot use the part (${part}) of (${textOf(path)}) to traverse the element ({${printRawField(name, value)}})`,
  )
}
