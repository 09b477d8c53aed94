/**
 * The part of a pipeline that needs only its own collection, and can run wherever that is read.
 *
 *   collected   stages up to the last that collects documents ($group, $sort …), and those after it that only
 *               pass on fewer documents. The part runs in one go, and its results are kept.
 *   each        stages that process one document at a time. They are part of the search for documents, and
 *               continue where it stopped.
 */

import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import type { EachDocument, LeadingFind, Stage } from '../stages/stage.ts'
import { collectingStages, foreignStages } from '../stages/table.ts'
import { readStages, type StageSpec } from './stage-list.ts'

export interface OwnPart {
  readonly kind: 'collected' | 'each'
  /** The number of stages after the leading find. */
  readonly stageCount: number
}

/** Stages whose output is never larger than their input. */
const passingStages: ReadonlySet<string> = new Set(['$limit', '$match', '$skip', '$unset'])

export function ownPartOf(
  lead: LeadingFind,
  specs: readonly StageSpec[],
  compiled: readonly Stage[],
): OwnPart | undefined {
  const foreign = specs.findIndex(isForeign)
  const own = foreign === -1 ? specs : specs.slice(0, foreign)
  const collecting = own.findLastIndex(({ name }) => collectingStages.has(name))
  if (collecting !== -1) {
    const behind = own.slice(collecting + 1)
    const other = behind.findIndex(({ name }) => !passingStages.has(name))
    return { kind: 'collected', stageCount: collecting + 1 + (other === -1 ? behind.length : other) }
  }
  // The leading find limits documents, but a page limits results.
  if (lead.skip > 0 || lead.limit !== undefined) return undefined
  const other = own.findIndex((_, at) => compiled[at]!.each === undefined)
  const stageCount = other === -1 ? own.length : other
  const each = own.slice(0, stageCount)
  // A page continues after a number of results of one document, so computing them again must give the same.
  const isRepeatable = !each.some(({ name }) => name === '$unwind') || !each.some(({ spec }) => isByChance(spec))
  return stageCount > 0 && isRepeatable ? { kind: 'each', stageCount } : undefined
}

function isForeign({ name, spec }: StageSpec): boolean {
  if (name !== '$facet' || spec.type !== bsonType.document) return foreignStages.has(name)
  return spec.fields.some(([, stages]) => readStages(stages, '$facet').some(isForeign))
}

const chances: ReadonlySet<string> = new Set(['$rand', '$sampleRate'])

/** Recurses as deep as documents nest. */
function isByChance(value: Value): boolean {
  if (value.type === bsonType.array) return value.elements.some(isByChance)
  return (
    value.type === bsonType.document && value.fields.some(([name, inner]) => chances.has(name) || isByChance(inner))
  )
}

/** Combines stages into one function. */
export function eachOf(stages: readonly Stage[]): EachDocument {
  return stages.reduceRight<EachDocument>(
    (next, stage) => {
      const each = stage.each!()
      return (document, emit) => each(document, made => next(made, emit))
    },
    (document, emit) => emit(document),
  )
}
