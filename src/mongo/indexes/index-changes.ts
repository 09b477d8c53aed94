/**
 * Changes the indexes of a collection, and with them the time at which documents die.
 *
 * Three things in the catalog must agree: the specifications that users see, the store's indexes, and the
 * TTL policy of the container. Specifications and policy change together in one write. So a TTL index on
 * `_ts` takes effect for all documents at once, however many there are.
 *
 * TTL indexes on dates are different, because each document stores its own deadline (`document-life.ts`).
 * When such an index changes, expiry pauses, all deadlines are rewritten, and expiry resumes. New documents
 * follow the new rules from the start. What was dead stays dead. An interrupted rewrite is resumed when the
 * server starts.
 */

import { scanBytesMax } from '../../base/limits.ts'
import { binary } from '../../document/bson/value.ts'
import type { Engine } from '../../engine/engine.ts'
import type { CatalogNote, ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey, ScannedItem } from '../../store/item.ts'
import { wholeRange } from '../../store/reading.ts'
import type { Step } from '../../store/writing.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import { collectionNote } from '../collections/catalog-notes.ts'
import type { StoredDefinition, StoredIndex } from '../collections/collection-definition.ts'
import {
  type Collection,
  type CollectionIndex,
  changeCollection,
  collectionOf,
  isLifespanRule,
} from '../collections/collections.ts'
import { lifeOf } from '../collections/document-life.ts'
import { encodeSpec, type IndexSpec, modifiedField } from '../index-specs/index-spec.ts'
import type { MongoSettings } from '../service/service.ts'

/** Documents whose deadlines are rewritten in one transaction. */
const mongoRewriteBatchMax = 100

export interface IndexWithNumber {
  readonly spec: IndexSpec
  readonly number: number | undefined
}

/**
 * Whether the store keeps an index for this specification. It does not for `_id` (the key itself), `_ts` (in
 * no document), wildcards (kept field by field, `wildcard-index.ts`) and 2dsphere (declared but not used).
 */
export function isKept({ kind, parts }: IndexSpec): boolean {
  const isId = parts.length === 1 && parts[0]!.path === '_id'
  const isModified = parts.length === 1 && parts[0]!.path === modifiedField
  return (kind === 'ordered' || kind === 'hashed') && !isId && !isModified
}

/** Replaces the indexes of a collection and makes expiry follow the new ones. */
export async function changeIndexes(
  engine: Engine,
  collection: Collection,
  settings: MongoSettings,
  change: (present: readonly CollectionIndex[]) => readonly IndexWithNumber[],
): Promise<Collection> {
  let mustRewrite = false
  const changed = await changeCollection(engine, collection, current => {
    const present = collectionOf(current)
    const wanted = change(present.indexes)
    const rules = wanted.map(({ spec }) => spec).filter(({ expireAfterSeconds }) => expireAfterSeconds !== undefined)
    const lifespan = checkedLifespan(rules)
    const deadlines = rules.length === 0 ? present.definition.deadlines : lifespan === undefined ? 'dates' : 'ttl'
    mustRewrite =
      rules.length > 0 &&
      (deadlines !== present.definition.deadlines ||
        (deadlines === 'dates' && describeRules(rules) !== describeRules(present.dateRules)))
    const definition: StoredDefinition = {
      ...present.definition,
      indexes: wanted.map(({ spec, number }): StoredIndex => {
        return { spec: encodeSpec(spec), ...(number !== undefined && { number }) }
      }),
      deadlines,
      isRewriting: mustRewrite,
    }
    const defaultTtl = mustRewrite || rules.length === 0 ? null : (lifespan?.expireAfterSeconds ?? -1)
    return { definition, defaultTtl, notes: indexNotes(current, present.indexes, wanted) }
  })
  return mustRewrite ? rewriteLives(engine, changed, settings) : changed
}

/** What change streams tell about a change of indexes. */
function indexNotes(
  container: ContainerRecord,
  present: readonly CollectionIndex[],
  wanted: readonly IndexWithNumber[],
): CatalogNote[] {
  if (container.logSeconds === null) return []
  const { uuid } = collectionOf(container).definition
  const list = ({ document }: IndexSpec) => ({ description: { indexes: [document] } })
  const dropped = present.filter(({ name }) => !wanted.some(({ spec }) => spec.name === name))
  const notes = dropped.map(index => collectionNote('dropIndexes', container, list(index)))
  for (const { spec } of wanted) {
    const before = present.find(({ name }) => name === spec.name)
    if (before === undefined) notes.push(collectionNote('createIndexes', container, list(spec)))
    else if (encodeSpec(before) !== encodeSpec(spec)) {
      const collectionOptions = { uuid: binary(Buffer.from(uuid, 'hex'), 4) }
      notes.push(
        collectionNote('modify', container, {
          description: { index: { name: spec.name, ...changedOptions(before, spec) } },
          stateBeforeChange: { collectionOptions, indexOptions: changedOptions(spec, before) },
        }),
      )
    }
  }
  return notes
}

/** The options of an index that have another value than before. */
function changedOptions(before: IndexSpec, after: IndexSpec): Fields {
  const { expireAfterSeconds, isHidden } = after
  return {
    expireAfterSeconds:
      expireAfterSeconds === undefined || expireAfterSeconds === before.expireAfterSeconds
        ? undefined
        : BigInt(expireAfterSeconds),
    hidden: isHidden === before.isHidden ? undefined : isHidden,
  }
}

/**
 * Removes indexes. The collection forgets them first, so that no query uses an index that is being dropped.
 */
export async function removeIndexes(
  engine: Engine,
  collection: Collection,
  settings: MongoSettings,
  doomed: readonly CollectionIndex[],
): Promise<Collection> {
  const changed = await changeIndexes(engine, collection, settings, present =>
    present
      .filter(({ name }) => !doomed.some(index => index.name === name))
      .map(index => ({ spec: index, number: index.number })),
  )
  for (const { number } of doomed) {
    if (number !== undefined) await engine.indexes.drop(collection.container, number)
  }
  return changed
}

function checkedLifespan(rules: readonly IndexSpec[]): IndexSpec | undefined {
  const lifespan = rules.find(isLifespanRule)
  if (lifespan !== undefined && rules.length > 1) {
    throw new CommandError(
      'CannotCreateIndex',
      `A collection has either a TTL index on '${modifiedField}' or TTL indexes on dates, not both.`,
    )
  }
  return lifespan
}

function describeRules(rules: readonly IndexSpec[]): string {
  return rules.map(encodeSpec).sort().join()
}

/** Rewrites the deadline of every document, then turns expiry on again. */
export async function rewriteLives(
  engine: Engine,
  collection: Collection,
  settings: MongoSettings,
): Promise<Collection> {
  const { container } = collection
  let after: ItemKey | undefined
  do {
    const page = await engine.uncharged.scan(
      container,
      { ...wholeRange, after },
      { itemsMax: mongoRewriteBatchMax, bytesMax: scanBytesMax },
    )
    if (page.items.length > 0)
      await engine.uncharged.transact(page.items.map(item => rewriteStep(collection, item, settings)))
    after = page.last
  } while (after !== undefined)
  return changeCollection(engine, collection, current => {
    const { definition, lifespanRule, dateRules } = collectionOf(current)
    const hasRules = lifespanRule !== undefined || dateRules.length > 0
    return {
      definition: { ...definition, isRewriting: false },
      defaultTtl: hasRules ? (lifespanRule?.expireAfterSeconds ?? -1) : null,
    }
  })
}

function rewriteStep(collection: Collection, { key }: ScannedItem, settings: MongoSettings): Step {
  return {
    container: collection.container,
    key,
    decide: found => {
      if (found === undefined) return undefined
      const body = found.body as Uint8Array
      return { kind: 'replace', draft: body, ...lifeOf(collection, body, settings) }
    },
  }
}
