/**
 * The certificate for https. It is made once, kept in the data directory, and valid for the names of a local
 * server.
 */

import { readFile, writeFile } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { machine } from '../base/clock.ts'

export interface Certificate {
  readonly key: string
  readonly cert: string
}

const fileName = 'certificate.pem'
const validDays = 3650

/** Loads the certificate of a directory, or makes it. Without a directory it is kept in memory. */
export function certificateSource(directory: string | undefined): () => Promise<Certificate> {
  let made: Promise<Certificate> | undefined
  return () => {
    made ??= directory === undefined ? makeCertificate() : loadOrMake(join(directory, fileName))
    return made
  }
}

async function loadOrMake(path: string): Promise<Certificate> {
  try {
    return split(await readFile(path, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  const made = await makeCertificate()
  await writeFile(path, made.cert + made.key, { mode: 0o600 })
  return made
}

/** One file holds certificate and key, so that they always belong together. */
function split(pem: string): Certificate {
  const at = pem.indexOf('-----BEGIN PRIVATE KEY-----')
  if (at === -1) throw new Error(`${fileName} holds no private key. Delete it, and Mayfly makes a new one.`)
  return { cert: pem.slice(0, at), key: pem.slice(at) }
}

async function makeCertificate(): Promise<Certificate> {
  const { generate } = await import('selfsigned')
  const now = machine.epochMs()
  const { cert, private: key } = await generate([{ name: 'commonName', value: 'localhost' }], {
    keyType: 'ec',
    algorithm: 'sha256',
    notBeforeDate: new Date(now - 24 * 3600 * 1000),
    notAfterDate: new Date(now + validDays * 24 * 3600 * 1000),
    extensions: [
      { name: 'basicConstraints', cA: true, critical: true },
      { name: 'keyUsage', digitalSignature: true, keyCertSign: true, critical: true },
      { name: 'extKeyUsage', serverAuth: true },
      {
        name: 'subjectAltName',
        altNames: [
          { type: 2, value: 'localhost' },
          { type: 2, value: 'host.docker.internal' },
          { type: 2, value: hostname() },
          { type: 7, ip: '127.0.0.1' },
          { type: 7, ip: '::1' },
        ],
      },
    ],
  })
  return { cert: withNewline(cert), key: withNewline(key) }
}

function withNewline(pem: string): string {
  return pem.endsWith('\n') ? pem : `${pem}\n`
}
