/**
 * A collection that a transaction will create when it commits. Until then only the transaction sees it.
 *
 * It has a container record like any other collection, so that commands need not know the difference. The
 * number of the container is negative: no store has it.
 */

import { toEpochSeconds } from '../../base/clock.ts'
import type { Namespace } from '../../mql/stages/namespace.ts'
import { ascendingFirst } from '../../query/choose-index.ts'
import type { ContainerRecord, IndexDraft, IndexRecord } from '../../store/catalog.ts'
import { newPolicy } from '../../ttl/lifespan.ts'
import { encodeSpec, type IndexSpec, storeOptions } from '../index-specs/index-spec.ts'
import { shownCollation } from '../requests/collation.ts'
import { newDefinition } from './collection-definition.ts'
import { type Collection, type CollectionDraft, collationIn, idIndexOf } from './collections.ts'
import { unshardedDefinition } from './document-key.ts'

export interface PlannedCollection {
  readonly namespace: Namespace
  readonly draft: CollectionDraft
  readonly specs: readonly IndexSpec[]
  readonly container: ContainerRecord
}

let lastNumber = 0

export function planned(namespace: Namespace, draft: CollectionDraft): PlannedCollection {
  const beginning = toEpochSeconds(0)
  const collation = collationIn(draft.options)
  const stamps = { rid: 0, version: 0, ts: beginning, throughput: null }
  const container: ContainerRecord = {
    ...stamps,
    number: --lastNumber,
    database: { ...stamps, number: 0, id: namespace.database },
    id: namespace.collection,
    partitionKey: unshardedDefinition,
    partitionCount: 1,
    partitionSplits: 0,
    encoding: 'bson',
    policy: newPolicy(null),
    logSeconds: null,
    definition: newDefinition(draft.options, undefined, collation && shownCollation(collation)),
    indexes: collation === undefined ? [] : [newIndex({ ...idIndexOf(collation), number: 0 })],
  }
  return { namespace, draft, specs: [], container }
}

export function isPlanned({ container }: Pick<Collection, 'container'>): boolean {
  return container.number < 0
}

function newIndex({ number, components, uniqueness = 'none', options }: IndexDraft & { number: number }): IndexRecord {
  return {
    definition: { number, components, uniqueness, options },
    isDeclared: true,
    isReady: false,
    hasCutKeys: false,
    hasGaps: false,
    hasSeveralKeys: false,
  }
}

/** With one more index. Unique ones hold for the documents of the transaction. */
export function withIndex({ container, ...rest }: PlannedCollection, spec: IndexSpec): PlannedCollection {
  const definition = container.definition as ReturnType<typeof newDefinition>
  const number = rest.specs.length + 1
  const record = newIndex({
    number,
    components: ascendingFirst(spec.parts.map(({ path, isDescending }) => ({ path: path.split('.'), isDescending }))),
    uniqueness: spec.isUnique ? 'container' : 'none',
    options: storeOptions(spec),
    isDeclared: true,
  })
  return {
    ...rest,
    specs: [...rest.specs, spec],
    container: {
      ...container,
      definition: { ...definition, indexes: [...definition.indexes, { spec: encodeSpec(spec), number }] },
      indexes: spec.isUnique ? [...container.indexes, record] : container.indexes,
    },
  }
}
