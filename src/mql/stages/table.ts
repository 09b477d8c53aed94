/** All stages, and where in a pipeline each is allowed. */

import { refuse } from '../expressions/core/define-operator.ts'
import { bucketStage } from './bucket.ts'
import { bucketAutoStage } from './bucket-auto.ts'
import { densifyStage } from './densify.ts'
import { facetStage } from './facet.ts'
import { fillStage } from './fill.ts'
import { geoNearStage } from './geo-near.ts'
import { graphLookupStage } from './graph-lookup.ts'
import { groupStage, sortByCountStage } from './group.ts'
import { countStage, limitStage, sampleStage, skipStage } from './limit.ts'
import { lookupStage } from './lookup.ts'
import { matchStage } from './match.ts'
import { addFieldsStage, projectStage, unsetStage } from './projection.ts'
import { redactStage, replaceRootStage, replaceWithStage } from './replace.ts'
import { setWindowFieldsStage } from './set-window-fields.ts'
import { sortStage } from './sort.ts'
import type { CompileStage } from './stage.ts'
import { documentsStage, unionWithStage } from './union.ts'
import { unwindStage } from './unwind.ts'
import { mergeStage, outStage } from './write.ts'

/** MongoDB's error text outside of Atlas. */
const search: CompileStage = () =>
  refuse(
    31082,
    'Using $search and $vectorSearch aggregation stages requires additional configuration. Please connect to Atlas ' +
      'or an AtlasCLI local deployment to enable.',
  )

export const stages: Readonly<Record<string, CompileStage>> = {
  $addFields: addFieldsStage,
  $bucket: bucketStage,
  $bucketAuto: bucketAutoStage,
  $count: countStage,
  $densify: densifyStage,
  $documents: documentsStage,
  $facet: facetStage,
  $fill: fillStage,
  $geoNear: (spec, compiler) => geoNearStage(spec, compiler, undefined),
  $graphLookup: graphLookupStage,
  $group: groupStage,
  $limit: limitStage,
  $lookup: lookupStage,
  $match: matchStage,
  $merge: mergeStage,
  $out: outStage,
  $project: projectStage,
  $redact: redactStage,
  $replaceRoot: replaceRootStage,
  $replaceWith: replaceWithStage,
  $sample: sampleStage,
  $set: addFieldsStage,
  $setWindowFields: setWindowFieldsStage,
  $skip: skipStage,
  $sort: (spec, { scope }) => sortStage(spec, undefined, scope.constants.collation),
  $sortByCount: sortByCountStage,
  $unionWith: unionWithStage,
  $unset: unsetStage,
  $unwind: unwindStage,
}

/** Stages that MongoDB knows and we do not support. */
export const unsupportedStages: Readonly<Record<string, CompileStage>> = {
  $listSearchIndexes: search,
  $search: search,
  $searchMeta: search,
  $vectorSearch: search,
}

/** First stages whose documents come from no collection. The caller of the pipeline supplies them. */
export const sourceStages: ReadonlySet<string> = new Set([
  '$changeStream',
  '$collStats',
  '$currentOp',
  '$indexStats',
  '$listLocalSessions',
  '$listSessions',
  '$planCacheStats',
])

/** Stages that emit nothing before they have seen the last document. */
export const collectingStages: ReadonlySet<string> = new Set([
  '$bucket',
  '$bucketAuto',
  '$count',
  '$densify',
  '$facet',
  '$fill',
  '$geoNear',
  '$group',
  '$sample',
  '$setWindowFields',
  '$sort',
  '$sortByCount',
])

/** Stages that use other collections. A `$facet` that contains one counts as well. */
export const foreignStages: ReadonlySet<string> = new Set([
  '$documents',
  '$graphLookup',
  '$lookup',
  '$merge',
  '$out',
  '$unionWith',
])

export const firstStages: ReadonlySet<string> = new Set([...sourceStages, '$documents', '$geoNear'])
export const lastStages: ReadonlySet<string> = new Set(['$merge', '$out'])

const refusals = {
  $facet: {
    names: new Set([...firstStages, ...lastStages, '$facet']),
    refuse: (name: string) => refuse(40600, `${name} is not allowed to be used within a $facet stage`),
  },
  $lookup: {
    names: new Set([...lastStages, '$changeStream']),
    refuse: (name: string) => refuse(51047, `${name} is not allowed within a $lookup's sub-pipeline`),
  },
  $unionWith: {
    names: new Set([...lastStages, '$changeStream']),
    refuse: (name: string) => refuse(31441, `${name} is not allowed within a $unionWith's sub-pipeline`),
  },
}

export function checkWithin(name: string, within: keyof typeof refusals): void {
  if (refusals[within].names.has(name)) refusals[within].refuse(name)
}
