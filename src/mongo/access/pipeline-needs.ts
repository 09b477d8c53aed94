/** The privileges that a pipeline needs: to read its collection, to read others, to write others. */

import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import { pipelineStagesMax } from '../../mql/pipeline/stage-list.ts'
import { type Action, cluster, type Privilege, type Resource } from './privilege.ts'

export interface PipelinePlace {
  readonly database: string
  /** Undefined: the pipeline is run on a database. */
  readonly collection: string | undefined
}

interface StageCall {
  readonly spec: Value
  readonly place: PipelinePlace
}

type StageNeed = (stage: StageCall) => readonly Privilege[]

/** A field may be given twice. Whichever counts, all of them are checked. */
function valuesOf(spec: Value, name: string): Value[] {
  return spec.type === bsonType.document ? spec.fields.flatMap(([each, value]) => (each === name ? [value] : [])) : []
}

function textsOf(values: readonly Value[]): string[] {
  return values.flatMap(value => (value.type === bsonType.string ? [value.value] : []))
}

const onPlace =
  (...actions: Action[]): StageNeed =>
  ({ place }) => [{ resource: resourceOf(place), actions }]

const nothing: StageNeed = () => []

function resourceOf({ database, collection }: PipelinePlace): Resource {
  return { db: database, collection: collection ?? '' }
}

function isTrue(value: Value): boolean {
  return value.type === bsonType.bool && value.value
}

/** `from` or `coll`, and the nested pipeline, which runs on the same collection. */
function joined({ spec, place }: StageCall, names: readonly string[]): Privilege[] {
  const collections = textsOf(names.flatMap(name => valuesOf(spec, name)))
  // A nested pipeline is checked once, not once for each name: the checks would multiply with the depth.
  const inner = { ...place, collection: collections[0] ?? place.collection }
  const nested = valuesOf(spec, 'pipeline').flatMap(stages => pipelineNeeds(stages, inner, 'nested'))
  return [...collections.flatMap(collection => reading(place.database, collection)), ...nested]
}

function reading(db: string, collection: string): Privilege[] {
  return [{ resource: { db, collection }, actions: ['find'] }]
}

/** A name, or `{db, coll}`. */
function targetsOf(spec: Value, { database }: PipelinePlace): Resource[] {
  if (spec.type === bsonType.string) return [{ db: database, collection: spec.value }]
  const databases = textsOf(valuesOf(spec, 'db'))
  const collections = textsOf(valuesOf(spec, 'coll'))
  return (databases.length === 0 ? [database] : databases).flatMap(db =>
    collections.map(collection => ({ db, collection })),
  )
}

/** The sessions of others. Without `allUsers` and `users` a user sees its own. */
function sessionsNeed({ spec }: StageCall): readonly Privilege[] {
  const isForOthers = valuesOf(spec, 'allUsers').some(isTrue) || valuesOf(spec, 'users').length > 0
  return isForOthers ? [{ resource: cluster, actions: ['listSessions'] }] : []
}

/** First stages bring documents of their own, so the collection itself is not read. */
const sourceNeeds: Readonly<Record<string, StageNeed>> = {
  $changeStream: ({ spec, place }) => {
    const actions: Action[] = ['changeStream', 'find']
    const isForCluster = valuesOf(spec, 'allChangesForCluster').some(isTrue)
    return [{ resource: isForCluster ? { db: '', collection: '' } : resourceOf(place), actions }]
  },
  $collStats: onPlace('collStats'),
  // Without the right to see all operations, a user sees its own.
  $currentOp: ({ spec }) =>
    valuesOf(spec, 'allUsers').some(isTrue) ? [{ resource: cluster, actions: ['inprog'] }] : [],
  $documents: nothing,
  $indexStats: onPlace('indexStats'),
  $listLocalSessions: sessionsNeed,
  $listSessions: sessionsNeed,
  $planCacheStats: onPlace('planCacheRead'),
}

/** Every stage has an entry; a test compares the table with the language's. */
export const stageNeeds: Readonly<Record<string, StageNeed>> = {
  ...sourceNeeds,
  $addFields: nothing,
  $bucket: nothing,
  $bucketAuto: nothing,
  $count: nothing,
  $densify: nothing,
  $facet: ({ spec, place }) =>
    spec.type === bsonType.document ? spec.fields.flatMap(([, stages]) => pipelineNeeds(stages, place, 'nested')) : [],
  $fill: nothing,
  $geoNear: nothing,
  $graphLookup: stage => joined(stage, ['from']),
  $group: nothing,
  $limit: nothing,
  $lookup: stage => joined(stage, ['from']),
  $match: nothing,
  $merge: ({ spec, place }) => mergeNeeds(spec, place),
  $out: ({ spec, place }) =>
    targetsOf(spec, place).map(resource => ({ resource, actions: ['insert', 'remove'] as const })),
  $project: nothing,
  $redact: nothing,
  $replaceRoot: nothing,
  $replaceWith: nothing,
  $sample: nothing,
  $set: nothing,
  $setWindowFields: nothing,
  $skip: nothing,
  $sort: nothing,
  $sortByCount: nothing,
  $unionWith: stage =>
    stage.spec.type === bsonType.string ? reading(stage.place.database, stage.spec.value) : joined(stage, ['coll']),
  $unset: nothing,
  $unwind: nothing,
}

function mergeNeeds(spec: Value, place: PipelinePlace): Privilege[] {
  const into = spec.type === bsonType.string ? [spec] : valuesOf(spec, 'into')
  const never = (name: string, words: readonly string[]) => {
    const given = valuesOf(spec, name)
    return given.length > 0 && given.every(value => value.type === bsonType.string && words.includes(value.value))
  }
  const actions: Action[] = []
  if (!never('whenNotMatched', ['discard', 'fail'])) actions.push('insert')
  if (!never('whenMatched', ['keepExisting', 'fail'])) actions.push('update')
  // Even a merge that writes nothing tells which documents are there.
  if (actions.length === 0) actions.push('insert')
  return into.flatMap(target => targetsOf(target, place)).map(resource => ({ resource, actions }))
}

/** `kind`: a nested pipeline reads the collection that its stage names. */
export function pipelineNeeds(
  stages: Value,
  place: PipelinePlace,
  kind: 'outer' | 'nested' = 'outer',
): readonly Privilege[] {
  const elements = stages.type === bsonType.array ? stages.elements : []
  // A longer pipeline is refused anyway.
  const all = elements.slice(0, pipelineStagesMax)
  const specs = all.filter((stage): stage is BsonDocument => stage.type === bsonType.document)
  const first = specs[0]?.fields[0]?.[0] ?? ''
  const own = kind === 'outer' && !Object.hasOwn(sourceNeeds, first) ? onPlace('find')({ spec: stages, place }) : []
  const needs = specs.flatMap(({ fields }) =>
    fields.flatMap(([name, spec]) => (Object.hasOwn(stageNeeds, name) ? stageNeeds[name]!({ spec, place }) : [])),
  )
  return [...own, ...needs]
}
