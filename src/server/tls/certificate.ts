/**
 * The certificate for TLS: the operator's own (`--tls-cert`, `--tls-key`), or one that Mayfly makes.
 *
 * Mayfly's own is made once, kept in the data directory, and valid for the names of a local server.
 * The file `certificate.pem` has three parts: the server's certificate, the authority that signed it, and the
 * private key of the first. A file is replaced only if Mayfly made it and it is not useful any more:
 *
 *   - it is the one certificate of earlier versions, an authority that was also the server's certificate
 *   - it ends within 30 days
 *
 * Clients must then trust the new authority. A file that somebody else put there is used as it is.
 */

import { createPrivateKey, type KeyObject, X509Certificate } from 'node:crypto'
import { mkdir, readFile, rename, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'

export interface Certificate {
  readonly key: string
  /** What the server sends: its certificate, then the authority. */
  readonly chain: string
  /** What clients trust. */
  readonly authority: string
}

const fileName = 'certificate.pem'
const certificatePattern = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\r?\n?/g
const authorityName = 'Mayfly local authority'
const dayMs = 24 * 3600 * 1000
/** Apple's systems refuse certificates of servers that are valid for more than 825 days. */
const validDays = 820
const renewalDays = 30

/** The files of an operator's own certificate. */
export interface CertificateFiles {
  /** The server's certificate, then those between it and the authority. */
  readonly certificate: string
  readonly key: string
}

/** Reads the files each time, because certificates are renewed while servers run. */
export async function readCertificate(files: CertificateFiles): Promise<Certificate> {
  const [chain, key] = await Promise.all([readPem(files.certificate, '--tls-cert'), readPem(files.key, '--tls-key')])
  const certificates = chain.match(certificatePattern)
  if (certificates === null) throw refused(`${files.certificate} holds no certificate in PEM form (--tls-cert).`)
  const leaf = parsed(() => new X509Certificate(certificates[0]), `${files.certificate} cannot be read (--tls-cert).`)
  const privateKey: KeyObject = parsed(
    () => createPrivateKey(key),
    `${files.key} holds no private key in PEM form, or one with a passphrase (--tls-key).`,
  )
  if (!leaf.checkPrivateKey(privateKey)) {
    throw refused(`The key in ${files.key} is not the key of the first certificate in ${files.certificate}.`)
  }
  return { chain, key, authority: certificates.at(-1)! }
}

async function readPem(path: string, flag: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    throw refused(`The file ${path} cannot be read (${flag}): ${(error as NodeJS.ErrnoException).code}.`, error)
  }
}

function parsed<T>(parse: () => T, sentence: string): T {
  try {
    return parse()
  } catch (error) {
    throw refused(sentence, error)
  }
}

function refused(sentence: string, cause?: unknown): RequestError {
  return new RequestError('malformed', sentence, { cause })
}

export function certificateIn(directory: string): string {
  return join(directory, fileName)
}

/** Loads the certificate of a directory, or makes it. Without a directory it is kept in memory. */
export function certificateSource(directory: string | undefined): () => Promise<Certificate> {
  let made: Promise<Certificate> | undefined
  return () => {
    if (made === undefined) {
      const making = directory === undefined ? makeCertificate() : loadOrMake(certificateIn(directory))
      made = making
      // The next connection tries again: the cause may have been removed.
      making.catch(() => {
        made = undefined
      })
    }
    return made
  }
}

async function loadOrMake(path: string): Promise<Certificate> {
  const found = await read(path)
  if (found !== undefined && !isOfNoMoreUse(found)) return found
  const made = await makeCertificate()
  // With --store, nothing else has made the directory.
  await mkdir(dirname(path), { recursive: true, mode: 0o700 })
  const written = `${path}.${process.pid}`
  await writeFile(written, made.chain + made.key, { mode: 0o600 })
  await rename(written, path)
  return made
}

async function read(path: string): Promise<Certificate | undefined> {
  try {
    return split(await readFile(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    return undefined
  }
}

/** One file holds certificates and key, so that they always belong together. */
function split(pem: string): Certificate {
  const certificates = pem.match(certificatePattern)
  const key = /-----BEGIN ([A-Z]+ )?PRIVATE KEY-----[^-]+-----END ([A-Z]+ )?PRIVATE KEY-----\r?\n?/.exec(pem)
  if (certificates === null || key === null) {
    throw new Error(`${fileName} does not hold a certificate and a private key. Delete it, and Mayfly makes a new one.`)
  }
  return { chain: certificates.join(''), authority: certificates.at(-1)!, key: key[0] }
}

function isOfNoMoreUse({ chain }: Certificate): boolean {
  const leaf = new X509Certificate(chain)
  if (leaf.ca) return leaf.subject === 'CN=localhost' && leaf.issuer === leaf.subject
  const isOurs = leaf.issuer.startsWith(`CN=${authorityName} `)
  return isOurs && leaf.validToDate.getTime() < machine.epochMs() + renewalDays * dayMs
}

/** The code that makes certificates is loaded when it is needed: most servers never speak TLS. */
async function makeCertificate(): Promise<Certificate> {
  const { makeLocalCertificate } = await import('./x509.ts')
  const now = machine.epochMs()
  const { authority, leaf, key } = makeLocalCertificate({
    authorityName,
    names: ['localhost', 'host.docker.internal', hostname(), '127.0.0.1', '::1'],
    // Clocks of containers and their hosts differ a little.
    notBefore: new Date(now - dayMs),
    notAfter: new Date(now + (validDays - 1) * dayMs),
  })
  return { chain: leaf + authority, authority, key }
}
