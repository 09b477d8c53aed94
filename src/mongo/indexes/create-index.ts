/** Creates one index of a collection. The index is ready when the command is answered. */

import { scanBytesMax, scanItemsMax } from '../../base/limits.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { printDocument } from '../../mql/errors/print.ts'
import { ascendingFirst } from '../../query/choose-index.ts'
import { type IndexPosition, wholeRange } from '../../store/reading.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Collection } from '../collections/collections.ts'
import { duplicateKeyError } from '../collections/duplicate-key.ts'
import { compareSpecs } from '../index-specs/index-conflicts.ts'
import { type IndexSpec, storeOptions } from '../index-specs/index-spec.ts'
import { shownCollation } from '../requests/collation.ts'
import type { CommandCall } from '../service/command.ts'
import { changeIndexes, isKept } from './index-changes.ts'

export async function createIndex(call: CommandCall, collection: Collection, spec: IndexSpec): Promise<Collection> {
  const { engine, settings } = call.service
  if (isIdIndex(spec)) return withIdIndex(collection, spec)
  const relations = collection.indexes.map(present => ({ present, relation: compareSpecs(present, spec) }))
  if (relations.some(({ relation }) => relation === 'same')) return collection
  const isChange = relations.some(({ relation }) => relation === 'expiry')
  const number = isChange || !isKept(spec) ? undefined : await buildStoreIndex(call, collection, spec)
  return changeIndexes(engine, collection, settings, present => {
    const kept = present.map(index =>
      isChange && index.name === spec.name ? { spec, number: index.number } : { spec: index, number: index.number },
    )
    return isChange ? kept : [...kept, { spec, number }]
  })
}

export function isIdIndex({ parts }: IndexSpec): boolean {
  return parts.length === 1 && parts[0]!.path === '_id' && !parts[0]!.isDescending
}

function withIdIndex(collection: Collection, { collation }: IndexSpec): Collection {
  const own = collection.collation
  if (own?.name === collation?.name) return collection
  const shown = (each: Collation | undefined) =>
    each === undefined ? '{ locale: "simple" }' : printDocument(shownCollation(each))
  throw new CommandError(
    'BadValue',
    'The _id index must have the same collation as the collection. Index collation: ' +
      `${shown(collation)}, collection collation: ${shown(own)}`,
  )
}

/**
 * Builds the whole index before the command answers, as MongoDB does. Other requests get their turns
 * meanwhile.
 */
async function buildStoreIndex(call: CommandCall, collection: Collection, spec: IndexSpec): Promise<number> {
  const { engine } = call.service
  const { container } = collection
  await spec.collation?.prepare()
  const number = await engine.indexes.create(container, {
    components: ascendingFirst(spec.parts.map(({ path, isDescending }) => ({ path: path.split('.'), isDescending }))),
    uniqueness: spec.isUnique ? 'container' : 'none',
    options: storeOptions(spec),
    isDeclared: true,
  })
  if (number === undefined) throw new CommandError('NamespaceNotFound', `ns does not exist: ${collection.name}`)
  try {
    await engine.indexes.complete(container, number, () => call.operation.check())
    if (spec.isUnique) await refuseDuplicates(call, collection, spec, number)
  } catch (error) {
    await engine.indexes.drop(container, number)
    throw error
  }
  return number
}

/**
 * While it is being built, an index refuses only duplicates of entries it already has. So look for the rest
 * at the end.
 */
async function refuseDuplicates(
  call: CommandCall,
  collection: Collection,
  spec: IndexSpec,
  index: number,
): Promise<void> {
  const { engine } = call.service
  // Documents that are dead only by a time in doubt may live again.
  const { moment, sure } = await engine.time()
  const at = sure < moment ? { moment: sure, policy: collection.container.policy } : undefined
  let after: IndexPosition | undefined
  let last: { readonly key: Uint8Array; readonly sequence: number } | undefined
  do {
    const page = await engine.uncharged.scanIndex(
      collection.container,
      { index, keys: [everything], isReverse: false, after, within: { ...wholeRange, at } },
      { itemsMax: scanItemsMax, bytesMax: scanBytesMax },
    )
    for (const { indexKey, sequence, body } of page.items) {
      if (last !== undefined && last.sequence !== sequence && Buffer.compare(last.key, indexKey) === 0) {
        throw duplicateKeyError(collection, spec, body as Uint8Array)
      }
      last = { key: indexKey, sequence }
    }
    after = page.last
    call.operation.check()
  } while (after !== undefined)
}

const everything = { low: new Uint8Array(), high: Uint8Array.of(0xff) }
