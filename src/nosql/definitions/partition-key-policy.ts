/**
 * The partition key in a container's definition.
 *
 * Without a version it is version 1: the service still hashes such containers the old way, and SDKs that want
 * the new way send 2. A replace must send the version that the container has; leaving it out counts as 1
 * (azure-resource-manager-schemas #2172).
 */

import {
  type PartitionKeyDefinition,
  parsePartitionKeyPath,
  partitionKeyLevelsMax,
} from '../../document/partition-key.ts'
import {
  fieldOf,
  invalidInput,
  malformed,
  readArray,
  readObject,
  readString,
  readWord,
  showValue,
} from './definition-input.ts'

export interface PartitionKeyPolicy {
  paths: string[]
  kind: 'Hash' | 'MultiHash' | 'Range'
  /** Absent only on containers from before partition keys. */
  version?: 1 | 2
  systemKey?: true
}

/** Since this version of the protocol a partition key is required. */
const partitionKeyRequiredSince = '2018-12-31'

export const missingPartitionKeyText = 'A Partition key definition is not specified in the request.'

export function parsePartitionKeyPolicy(input: unknown, apiVersion: string): PartitionKeyPolicy {
  if (input === undefined) {
    if (apiVersion >= partitionKeyRequiredSince) malformed(missingPartitionKeyText)
    return { paths: ['/_partitionKey'], kind: 'Hash', systemKey: true }
  }
  const policy = readObject(input, 'partitionKey')
  const kindInput = fieldOf(policy, 'kind') ?? 'Hash'
  const kind = readWord(kindInput, 'partitionKey.kind', ['Hash', 'MultiHash', 'Range'])
  const paths = readPartitionKeyPaths(fieldOf(policy, 'paths'), kind)
  // The service's own page on creating a collection writes it with a capital letter.
  const given = fieldOf(policy, 'version') ?? fieldOf(policy, 'Version') ?? 1
  // The Java SDK writes the name of its constant.
  const version = given === 'V1' ? 1 : given === 'V2' ? 2 : given
  if (version !== 1 && version !== 2) invalidInput(`'partitionKey.version' must be 1 or 2, not ${showValue(version)}`)
  if (kind === 'MultiHash' && version !== 2) {
    // INFERRED text (not documented). That hierarchical keys are version 2 is documented.
    malformed("The partition key definition is invalid. Kind 'MultiHash' requires version 2.")
  }
  return { paths, kind, version }
}

function readPartitionKeyPaths(input: unknown, kind: PartitionKeyPolicy['kind']): string[] {
  const elements = readArray(input, 'partitionKey.paths', Number.POSITIVE_INFINITY)
  // INFERRED.
  if (elements.length === 0) malformed('The partition key definition must specify at least one path.')
  const pathsMax = kind === 'MultiHash' ? partitionKeyLevelsMax : 1
  if (elements.length > pathsMax) {
    malformed(`Too many partition key paths (${elements.length}) specified. A maximum of ${pathsMax} is allowed.`)
  }
  return elements.map(element => {
    const path = readString(element, 'partitionKey.paths')
    parsePartitionKeyPath(path)
    return path
  })
}

/** The definition for the engine, with every field filled in. */
export function toPartitionKeyDefinition(policy: PartitionKeyPolicy): PartitionKeyDefinition {
  const { paths, kind, version = 1 } = policy
  return policy.systemKey ? { paths, kind, version, systemKey: true } : { paths, kind, version }
}

export function isSamePartitionKey(a: PartitionKeyPolicy, b: PartitionKeyPolicy): boolean {
  const textOf = ({ paths, kind, version }: PartitionKeyPolicy) => JSON.stringify([paths, kind, version ?? 1])
  return textOf(a) === textOf(b)
}
