/**
 * The part of a pipeline that needs no other collection than its own, and can therefore run wherever that is
 * read.
 *
 *   collected   stages up to the last that collects documents ($group, $sort …) and those behind it that only
 *               pass fewer documents on. The part runs in one go, and its results are kept.
 *   each        stages that look at one document at a time. They are part of the search for documents, and go
 *               on where it stopped.
 */

import { bsonType } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import type { EachDocument, Lead, Stage } from '../stages/stage.ts'
import { collectingStages, foreignStages } from '../stages/table.ts'
import { readStages, type StageSpec } from './stage-list.ts'

export interface OwnPart {
  readonly kind: 'collected' | 'each'
  /** How many stages behind the lead it is. */
  readonly stageCount: number
}

/** What comes out of them is no more than what went in. */
const passingStages: ReadonlySet<string> = new Set(['$limit', '$match', '$skip', '$unset'])

export function ownPartOf(lead: Lead, specs: readonly StageSpec[], compiled: readonly Stage[]): OwnPart | undefined {
  const foreign = specs.findIndex(isForeign)
  const own = foreign === -1 ? specs : specs.slice(0, foreign)
  const collecting = own.findLastIndex(({ name }) => collectingStages.has(name))
  if (collecting !== -1) {
    const behind = own.slice(collecting + 1)
    const other = behind.findIndex(({ name }) => !passingStages.has(name))
    return { kind: 'collected', stageCount: collecting + 1 + (other === -1 ? behind.length : other) }
  }
  // What the lead counts are documents, not what becomes of them.
  if (lead.skip > 0 || lead.limit !== undefined) return undefined
  const other = own.findIndex((_, at) => compiled[at]!.each === undefined)
  const stageCount = other === -1 ? own.length : other
  const each = own.slice(0, stageCount)
  // A page goes on behind so many results of a document, which must be the same when they are made again.
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

/** Stages one behind the other, as one. */
export function eachOf(stages: readonly Stage[]): EachDocument {
  return stages.reduceRight<EachDocument>(
    (next, stage) => {
      const each = stage.each!()
      return (document, emit) => each(document, made => next(made, emit))
    },
    (document, emit) => emit(document),
  )
}
