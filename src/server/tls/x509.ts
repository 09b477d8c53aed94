/**
 * Makes a certificate for local use (X.509 v3, RFC 5280): a small authority, and a leaf that it has signed.
 *
 * Clients trust the authority; the server shows the leaf. It cannot be one certificate for both: rustls, for
 * one, refuses an authority as a server's certificate. The key of the authority signs once and is then
 * forgotten. So nobody can ever make another certificate that a user of this one would trust.
 */

import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto'
import { isIPv4 } from 'node:net'
import {
  bitString,
  boolean,
  namedBits,
  objectIdentifier,
  octetString,
  sequence,
  setOf,
  taggedBytes,
  taggedMembers,
  time,
  unsignedInteger,
  utf8String,
} from './der.ts'

export interface LocalCertificate {
  /** PEM: what clients trust. */
  readonly authority: string
  /** PEM: what the server shows. */
  readonly leaf: string
  /** PEM: the private key of the leaf. */
  readonly key: string
}

export interface LocalCertificateOptions {
  /** The name of the authority. Random digits are added. */
  readonly authorityName: string
  /** Names and addresses of the server. A name that DNS could not have is left out. */
  readonly names: readonly string[]
  readonly notBefore: Date
  readonly notAfter: Date
}

const ecdsaWithSha256 = sequence(objectIdentifier('1.2.840.10045.4.3.2'))
const commonName = objectIdentifier('2.5.4.3')
const serverAuth = objectIdentifier('1.3.6.1.5.5.7.3.1')

/** Bits of the key usage extension. */
const digitalSignature = 0
const keyCertSign = 5
const crlSign = 6

export function makeLocalCertificate(options: LocalCertificateOptions): LocalCertificate {
  const authorityKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const leafKeys = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  // Several authorities may be trusted on one machine, and some clients look for an issuer by its name
  // alone.
  const issuer = nameOf(`${options.authorityName} ${randomBytes(4).toString('hex')}`)
  const authorityKeyId = keyIdOf(authorityKeys.publicKey)
  const { notBefore, notAfter } = options
  const common = { issuer, signer: authorityKeys.privateKey, validity: sequence(time(notBefore), time(notAfter)) }
  const authority = certificate({
    ...common,
    subject: issuer,
    publicKey: authorityKeys.publicKey,
    extensions: [
      extension('2.5.29.19', sequence(boolean(true), unsignedInteger(Buffer.of(0))), { isCritical: true }),
      extension('2.5.29.15', namedBits(keyCertSign, crlSign), { isCritical: true }),
      extension('2.5.29.14', octetString(authorityKeyId)),
    ],
  })
  const leaf = certificate({
    ...common,
    subject: nameOf('localhost'),
    publicKey: leafKeys.publicKey,
    extensions: [
      extension('2.5.29.19', sequence(), { isCritical: true }),
      extension('2.5.29.15', namedBits(digitalSignature), { isCritical: true }),
      extension('2.5.29.37', sequence(serverAuth)),
      extension('2.5.29.17', sequence(...options.names.flatMap(alternativeName))),
      extension('2.5.29.14', octetString(keyIdOf(leafKeys.publicKey))),
      extension('2.5.29.35', sequence(taggedBytes(0, authorityKeyId))),
    ],
  })
  const key = leafKeys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  return { authority: pem(authority), leaf: pem(leaf), key }
}

interface CertificateParts {
  readonly issuer: Buffer
  readonly subject: Buffer
  readonly validity: Buffer
  readonly publicKey: KeyObject
  readonly extensions: readonly Buffer[]
  readonly signer: KeyObject
}

function certificate({ issuer, subject, validity, publicKey, extensions, signer }: CertificateParts): Buffer {
  const version3 = taggedMembers(0, unsignedInteger(Buffer.of(2)))
  const unsigned = sequence(
    version3,
    unsignedInteger(serialNumber()),
    ecdsaWithSha256,
    issuer,
    validity,
    subject,
    publicKey.export({ type: 'spki', format: 'der' }),
    taggedMembers(3, sequence(...extensions)),
  )
  return sequence(unsigned, ecdsaWithSha256, bitString(sign('sha256', unsigned, signer)))
}

/** Random, positive and not zero, at most 20 bytes. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes[0] = (bytes[0]! & 0x7f) | 0x40
  return bytes
}

/** A distinguished name that is only a common name. */
function nameOf(text: string): Buffer {
  return sequence(setOf(sequence(commonName, utf8String(text))))
}

function extension(id: string, content: Buffer, { isCritical = false } = {}): Buffer {
  // False is the default, and DER leaves defaults out.
  const critical = isCritical ? [boolean(true)] : []
  return sequence(objectIdentifier(id), ...critical, octetString(content))
}

/** RFC 7093, method 1: the first 160 bits of the SHA-256 of the public key. */
function keyIdOf(publicKey: KeyObject): Buffer {
  const { x, y } = publicKey.export({ format: 'jwk' })
  const point = [Buffer.of(4), Buffer.from(x!, 'base64url'), Buffer.from(y!, 'base64url')]
  return createHash('sha256').update(Buffer.concat(point)).digest().subarray(0, 20)
}

const dnsName = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i

function alternativeName(name: string): Buffer[] {
  if (name === '::1') return [taggedBytes(7, Buffer.from('00000000000000000000000000000001', 'hex'))]
  if (isIPv4(name)) return [taggedBytes(7, Buffer.from(name.split('.').map(Number)))]
  return dnsName.test(name) ? [taggedBytes(2, Buffer.from(name, 'latin1'))] : []
}

function pem(der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g)!
  return `-----BEGIN CERTIFICATE-----\n${lines.join('\n')}\n-----END CERTIFICATE-----\n`
}
