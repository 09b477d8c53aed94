/**
 * A container's definition: what a client may send on create and replace, and what is stored.
 *
 * The result is plain JSON with its fields in the order of the service's answers. The resource that a client
 * sees is this object followed by the system properties. Fields that were not given and have no default are
 * absent. System properties that a client sends back (`_rid`, `_etag`, ...) are ignored. Unknown properties
 * are refused: the service ignores them, and then nobody notices a wrong spelling.
 *
 * A replace is like a create: the new definition is complete, and fields that it leaves out return to their
 * defaults. But some parts must not change.
 *
 *   must stay         id, partitionKey, uniqueKeyPolicy, conflictResolutionPolicy, clientEncryptionPolicy,
 *                     and every path that is already in vectorEmbeddingPolicy
 *   left out is off   defaultTtl, computedProperties, fullTextPolicy, changeFeedPolicy
 *   left out stays    analyticalStorageTtl (azure-cosmos-dotnet-v3 #4634: only 0 turns it off)
 */

import { RequestError } from '../../base/error.ts'
import { type ClientEncryptionPolicy, parseClientEncryptionPolicy } from './client-encryption-policy.ts'
import { type ComputedProperty, parseComputedProperties } from './computed-properties.ts'
import { type ConflictResolutionPolicy, parseConflictResolutionPolicy } from './conflict-resolution-policy.ts'
import { fieldOf, type JsonObject, malformed, readObject, showValue } from './definition-input.ts'
import { checkFullTextIndexes, type FullTextPolicy, parseFullTextPolicy } from './full-text-policy.ts'
import { type IndexingPolicy, parseIndexingPolicy } from './indexing-policy.ts'
import { isSamePartitionKey, type PartitionKeyPolicy, parsePartitionKeyPolicy } from './partition-key-policy.ts'
import { parseResourceId } from './resource-name.ts'
import { checkBoundingBoxes, type GeospatialConfig, parseGeospatialConfig } from './spatial-index.ts'
import { parseAnalyticalStorageTtl, parseDefaultTtl, refuseTtlPropertyPath } from './ttl-settings.ts'
import { isSameUniqueKeyPolicy, parseUniqueKeyPolicy, type UniqueKeyPolicy } from './unique-key-policy.ts'
import {
  checkVectorIndexes,
  checkVectorReplacement,
  parseVectorEmbeddingPolicy,
  type VectorEmbeddingPolicy,
} from './vector-policy.ts'

export interface ContainerDefinition {
  id: string
  indexingPolicy: IndexingPolicy
  partitionKey: PartitionKeyPolicy
  /** Seconds, or -1 for "on, without a default". Absent when time to live is off. */
  defaultTtl?: number
  uniqueKeyPolicy?: UniqueKeyPolicy
  conflictResolutionPolicy: ConflictResolutionPolicy
  geospatialConfig: GeospatialConfig
  analyticalStorageTtl?: number
  changeFeedPolicy?: ChangeFeedPolicy
  computedProperties?: ComputedProperty[]
  vectorEmbeddingPolicy?: VectorEmbeddingPolicy
  fullTextPolicy?: FullTextPolicy
  clientEncryptionPolicy?: ClientEncryptionPolicy
}

export interface ChangeFeedPolicy {
  /** Minutes for which all versions and deletes can be read; 0 for none. */
  retentionDuration: number
}

/** Seconds for which every version and delete is kept; null if none are. */
export function logSeconds({ changeFeedPolicy }: ContainerDefinition): number | null {
  const minutes = changeFeedPolicy?.retentionDuration ?? 0
  return minutes === 0 ? null : minutes * 60
}

export interface DefinitionContext {
  /** The x-ms-version of the request. */
  apiVersion: string
}

export function parseContainerDefinition(input: unknown, context: DefinitionContext): ContainerDefinition {
  const body = readObject(input, 'body')
  return completeDefinition(body, {
    id: parseResourceId(fieldOf(body, 'id')),
    partitionKey: parsePartitionKeyPolicy(fieldOf(body, 'partitionKey'), context.apiVersion),
    analyticalStorageTtl: parseAnalyticalStorageTtl(fieldOf(body, 'analyticalStorageTtl')),
  })
}

export function replaceContainerDefinition(
  current: ContainerDefinition,
  input: unknown,
  context: DefinitionContext,
): ContainerDefinition {
  const body = readObject(input, 'body')
  if (parseResourceId(fieldOf(body, 'id')) !== current.id) {
    // INFERRED text (the service does not document it). The 400 is the service's (azure-sdk-for-js,
    // container.spec: "Replacing id is not allowed").
    malformed('Document collection id cannot be changed.')
  }
  checkSamePartitionKey(current, fieldOf(body, 'partitionKey'), context)

  const hasAnalyticalTtl = Object.hasOwn(body, 'analyticalStorageTtl')
  const next = completeDefinition(body, {
    id: current.id,
    partitionKey: current.partitionKey,
    analyticalStorageTtl: hasAnalyticalTtl
      ? parseAnalyticalStorageTtl(body.analyticalStorageTtl)
      : current.analyticalStorageTtl,
  })
  checkReplacement(current, next)
  return next
}

/** Containers from before partition keys have none to repeat. */
function checkSamePartitionKey(current: ContainerDefinition, input: unknown, context: DefinitionContext): void {
  if (input === undefined && current.partitionKey.systemKey) return
  if (!isSamePartitionKey(parsePartitionKeyPolicy(input, context.apiVersion), current.partitionKey)) {
    malformed('Document collection partition key cannot be changed.')
  }
}

function checkReplacement(current: ContainerDefinition, next: ContainerDefinition): void {
  if (!isSameUniqueKeyPolicy(current.uniqueKeyPolicy, next.uniqueKeyPolicy)) {
    // The service answers 403 here, not 400 (azure-sdk-for-python #40070, ARO-RP #2401).
    throw new RequestError(
      'forbidden',
      'The unique index cannot be modified. To change the unique index, remove the collection and re-create a new one.',
    )
  }
  if (JSON.stringify(current.conflictResolutionPolicy) !== JSON.stringify(next.conflictResolutionPolicy)) {
    // INFERRED text; leaving the policy out is a change as well (azure-powershell #11383).
    malformed("'conflictResolutionPolicy' cannot be changed as part of collection replace operation.")
  }
  if (JSON.stringify(current.clientEncryptionPolicy) !== JSON.stringify(next.clientEncryptionPolicy)) {
    malformed("'clientEncryptionPolicy' cannot be changed as part of collection replace operation.")
  }
  checkVectorReplacement(
    { policy: current.vectorEmbeddingPolicy, indexes: current.indexingPolicy.vectorIndexes ?? [] },
    { policy: next.vectorEmbeddingPolicy, indexes: next.indexingPolicy.vectorIndexes ?? [] },
  )
}

const knownProperties: ReadonlySet<string> = new Set([
  'id',
  'indexingPolicy',
  'partitionKey',
  'defaultTtl',
  'ttlPropertyPath',
  'uniqueKeyPolicy',
  'conflictResolutionPolicy',
  'geospatialConfig',
  'analyticalStorageTtl',
  'changeFeedPolicy',
  'computedProperties',
  'vectorEmbeddingPolicy',
  'fullTextPolicy',
  'clientEncryptionPolicy',
  // Part of an answer if the request asks for it. Clients send it back.
  'statistics',
])

/** Features of the service that Mayfly does not have. */
const missingFeatures: Readonly<Record<string, string>> = {
  globalSecondaryIndexDefinition: 'Global secondary indexes',
  materializedViewDefinition: 'Materialized views',
  materializedViews: 'Materialized views',
  dataMaskingPolicy: 'Data masking policies',
}

/** A null counts as absent: SDKs write it for what their user left out. */
function checkProperties(body: JsonObject): void {
  for (const name of Object.keys(body)) {
    if (knownProperties.has(name) || name.startsWith('_') || body[name] === null) continue
    const feature = Object.hasOwn(missingFeatures, name) ? missingFeatures[name] : undefined
    if (feature !== undefined) malformed(`${feature} are not available in Mayfly. Remove '${name}' from the container.`)
    malformed(`The container property ${showValue(name)} is unknown. Remove it, or correct its spelling.`)
  }
}

interface DecidedFields {
  id: string
  partitionKey: PartitionKeyPolicy
  analyticalStorageTtl: number | undefined
}

function completeDefinition(body: JsonObject, decided: DecidedFields): ContainerDefinition {
  const { id, partitionKey, analyticalStorageTtl } = decided
  checkProperties(body)
  const indexingPolicy = parseIndexingPolicy(fieldOf(body, 'indexingPolicy'))
  const defaultTtl = parseDefaultTtl(fieldOf(body, 'defaultTtl'))
  if (defaultTtl !== undefined && indexingPolicy.indexingMode === 'none') {
    malformed("Indexing mode value cannot be 'none' when 'defaultTtl' is specified in the collection")
  }
  refuseTtlPropertyPath(fieldOf(body, 'ttlPropertyPath'), defaultTtl)
  const geospatialConfig = parseGeospatialConfig(fieldOf(body, 'geospatialConfig'))
  checkBoundingBoxes(indexingPolicy.spatialIndexes ?? [], geospatialConfig)

  const parsed = <Value>(name: string, parse: (value: unknown) => Value): Value | undefined => {
    const value = fieldOf(body, name)
    return value === undefined ? undefined : parse(value)
  }
  const definition = withoutUndefined({
    id,
    indexingPolicy,
    partitionKey,
    defaultTtl,
    uniqueKeyPolicy: parsed('uniqueKeyPolicy', parseUniqueKeyPolicy),
    conflictResolutionPolicy: parseConflictResolutionPolicy(fieldOf(body, 'conflictResolutionPolicy')),
    geospatialConfig,
    analyticalStorageTtl,
    changeFeedPolicy: parsed('changeFeedPolicy', parseChangeFeedPolicy),
    computedProperties: parsed('computedProperties', value =>
      parseComputedProperties(value, indexingPolicy.spatialIndexes ?? []),
    ),
    vectorEmbeddingPolicy: parsed('vectorEmbeddingPolicy', parseVectorEmbeddingPolicy),
    fullTextPolicy: parsed('fullTextPolicy', parseFullTextPolicy),
    clientEncryptionPolicy: parsed('clientEncryptionPolicy', value =>
      parseClientEncryptionPolicy(value, partitionKey.paths),
    ),
  })
  checkVectorIndexes(indexingPolicy.vectorIndexes ?? [], definition.vectorEmbeddingPolicy)
  checkFullTextIndexes(indexingPolicy.fullTextIndexes ?? [], definition.fullTextPolicy)
  return definition
}

function parseChangeFeedPolicy(input: unknown): ChangeFeedPolicy {
  const retentionDuration = fieldOf(readObject(input, 'changeFeedPolicy'), 'retentionDuration') ?? 0
  if (typeof retentionDuration !== 'number' || !Number.isSafeInteger(retentionDuration) || retentionDuration < 0) {
    // INFERRED.
    malformed(
      `The change feed retention duration '${showValue(retentionDuration)}' is invalid. Ensure to provide a number ` +
        'of minutes that is not negative.',
    )
  }
  return { retentionDuration }
}

type WithUndefined<Shape> = { [Name in keyof Shape]: Shape[Name] | undefined }

/** Drops undefined fields: `in` and deep comparisons tell them from absent ones. */
function withoutUndefined(fields: WithUndefined<Required<ContainerDefinition>>): ContainerDefinition {
  return Object.fromEntries(
    Object.entries(fields).filter(([, value]) => value !== undefined),
  ) as unknown as ContainerDefinition
}
