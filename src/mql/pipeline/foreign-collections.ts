/** Finds the collections and views that a pipeline reads besides its own. */

import { bsonType } from '../../document/bson/types.ts'
import type { BsonArray, Value } from '../../document/bson/value.ts'
import type { Namespace } from '../stages/namespace.ts'

/** What the name of a view stands for: stages over a collection that is no view. */
export interface ViewPipeline {
  readonly on: Namespace
  readonly stages: BsonArray
}

/** The views that a pipeline may name, by their names within its database. */
export type ViewPipelines = ReadonlyMap<string, ViewPipeline>

/**
 * The names in `$lookup`, `$graphLookup` and `$unionWith`, also within nested pipelines. Malformed stages are
 * skipped here, and refused when the pipeline is compiled.
 */
export function foreignCollections(stages: Value): ReadonlySet<string> {
  const names = new Set<string>()
  collect(stages, names)
  return names
}

function collect(stages: Value | undefined, names: Set<string>): void {
  if (stages?.type !== bsonType.array) return
  for (const stage of stages.elements) {
    const [name, spec] = stage.type === bsonType.document ? (stage.fields[0] ?? []) : []
    if (name === '$unionWith' && spec?.type === bsonType.string) names.add(spec.value)
    if (spec?.type !== bsonType.document) continue
    if (name === '$facet') for (const [, inner] of spec.fields) collect(inner, names)
    if (name !== '$lookup' && name !== '$graphLookup' && name !== '$unionWith') continue
    const from = spec.get(name === '$unionWith' ? 'coll' : 'from')
    if (from?.type === bsonType.string) names.add(from.value)
    collect(spec.get('pipeline'), names)
  }
}
