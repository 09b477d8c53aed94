/**
 * A client encryption key: a data key that the client has wrapped with a key of its own.
 *
 * The server only stores it. Clients encrypt and decrypt; the server cannot unwrap the data key.
 */

import { encryptionAlgorithm } from './client-encryption-policy.ts'
import { fieldOf, invalidInput, malformed, readObject, readString } from './definition-input.ts'
import { parseResourceId } from './resource-name.ts'

export interface ClientEncryptionKey {
  readonly id: string
  readonly encryptionAlgorithm: string
  /** Which key of the client wraps this one, and how; as the client wrote it. */
  readonly keyWrapMetadata: object
  /** In base64. */
  readonly wrappedDataEncryptionKey: string
}

const base64 = /^[A-Za-z0-9+/]+={0,2}$/

export function parseClientEncryptionKey(input: unknown): ClientEncryptionKey {
  const body = readObject(input, 'body')
  const id = parseResourceId(fieldOf(body, 'id'))
  // INFERRED texts.
  if (readString(fieldOf(body, 'encryptionAlgorithm'), 'encryptionAlgorithm') !== encryptionAlgorithm) {
    malformed(`EncryptionAlgorithm should be '${encryptionAlgorithm}'.`)
  }
  const wrapped = readString(fieldOf(body, 'wrappedDataEncryptionKey'), 'wrappedDataEncryptionKey')
  if (!base64.test(wrapped) || wrapped.length % 4 !== 0) invalidInput("'wrappedDataEncryptionKey' must be base64")
  const metadata = readObject(fieldOf(body, 'keyWrapMetadata'), 'keyWrapMetadata')
  for (const name of ['type', 'name', 'value']) readString(fieldOf(metadata, name), `keyWrapMetadata.${name}`)
  return { id, encryptionAlgorithm, keyWrapMetadata: metadata, wrappedDataEncryptionKey: wrapped }
}
