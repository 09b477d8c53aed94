/**
 * The client encryption policy: which top-level properties clients encrypt before they send them.
 *
 * The server only stores it, and clients read it back. The keys that it names must exist. Except for a
 * missing key, the error texts are those of the .NET SDK, which checks the same rules before sending
 * (ClientEncryptionPolicy.cs).
 */

import { parsePartitionKeyPath } from '../../document/partition-key.ts'
import { fieldOf, type JsonObject, malformed, readArray, readObject, readString } from './definition-input.ts'
import { indexPathsMax } from './policy-path.ts'

export interface ClientEncryptionPolicy {
  includedPaths: ClientEncryptionPath[]
  policyFormatVersion: 1 | 2
}

export interface ClientEncryptionPath {
  path: string
  clientEncryptionKeyId: string
  encryptionType: 'Deterministic' | 'Randomized'
  encryptionAlgorithm: typeof encryptionAlgorithm
}

export const encryptionAlgorithm = 'AEAD_AES_256_CBC_HMAC_SHA256'

export function parseClientEncryptionPolicy(
  input: unknown,
  partitionKeyPaths: readonly string[],
): ClientEncryptionPolicy {
  const policy = readObject(input, 'clientEncryptionPolicy')
  const policyFormatVersion = fieldOf(policy, 'policyFormatVersion') ?? 1
  if (policyFormatVersion !== 1 && policyFormatVersion !== 2) {
    malformed('Supported versions of client encryption policy are 1 and 2.')
  }
  const where = 'clientEncryptionPolicy.includedPaths'
  const partitionKeyNames = new Set(partitionKeyPaths.map(path => parsePartitionKeyPath(path)[0]))
  const seen = new Set<string>()
  const includedPaths = readArray(fieldOf(policy, 'includedPaths'), where, indexPathsMax).map((element, at) => {
    const included = readPath(readObject(element, `${where}[${at}]`), `${where}[${at}]`)
    if (seen.has(included.path)) malformed(`Duplicate Path found: ${included.path}.`)
    seen.add(included.path)
    checkKeyPath(included, { policyFormatVersion, isPartitionKey: partitionKeyNames.has(included.path.slice(1)) })
    return included
  })
  return { includedPaths, policyFormatVersion }
}

function readPath(entry: JsonObject, where: string): ClientEncryptionPath {
  const textAt = (name: string) => readString(fieldOf(entry, name), `${where}.${name}`)
  const path = textAt('path')
  if (path.length < 2 || path.lastIndexOf('/') !== 0) malformed(`Invalid path '${path}'.`)
  const clientEncryptionKeyId = textAt('clientEncryptionKeyId')
  const encryptionType = textAt('encryptionType')
  if (encryptionType !== 'Deterministic' && encryptionType !== 'Randomized') {
    malformed("EncryptionType should be either 'Deterministic' or 'Randomized'.")
  }
  if (textAt('encryptionAlgorithm') !== encryptionAlgorithm) {
    malformed(`EncryptionAlgorithm should be '${encryptionAlgorithm}'.`)
  }
  return { path, clientEncryptionKeyId, encryptionType, encryptionAlgorithm }
}

/** Throws unless every key of the policy exists. */
export async function checkEncryptionKeys(
  { includedPaths }: ClientEncryptionPolicy,
  hasKey: (id: string) => Promise<boolean>,
): Promise<void> {
  for (const { clientEncryptionKeyId } of includedPaths) {
    // The service's text (azure-cosmos-dotnet-v3, CosmosContainerTests).
    if (!(await hasKey(clientEncryptionKeyId))) {
      malformed(`ClientEncryptionKey with id '[${clientEncryptionKeyId}]' does not exist.`)
    }
  }
}

/** Ids and partition keys must be encrypted deterministically, or items could not be found. */
function checkKeyPath(
  included: ClientEncryptionPath,
  { policyFormatVersion, isPartitionKey }: { policyFormatVersion: 1 | 2; isPartitionKey: boolean },
): void {
  const { path, encryptionType } = included
  if (path === '/id') {
    if (policyFormatVersion < 2) {
      malformed(`Path: ${path} cannot be encrypted with PolicyFormatVersion: 1. Please use PolicyFormatVersion: 2.`)
    }
    if (encryptionType !== 'Deterministic') {
      malformed(`Only Deterministic encryption type is supported for path: ${path}.`)
    }
  } else if (isPartitionKey) {
    if (policyFormatVersion < 2) {
      malformed(
        `Path: ${path} which is part of the partition key cannot be encrypted with PolicyFormatVersion: 1. ` +
          'Please use PolicyFormatVersion: 2.',
      )
    }
    if (encryptionType !== 'Deterministic') {
      malformed(
        `Path: ${path} which is part of the partition key has to be encrypted with Deterministic type Encryption.`,
      )
    }
  }
}
