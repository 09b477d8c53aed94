/**
 * mayfly cert: prints the authority that clients must trust for https.
 *
 * It asks the running server, or reads a data directory. It never makes a directory. It makes a first
 * certificate only in a directory that was named, so that users do not trust an authority that no server
 * uses.
 */

import { existsSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { RequestError } from '../base/error.ts'
import { settings } from '../server/config.ts'
import { certificateIn, certificateSource } from '../server/tls/certificate.ts'
import { requireParent } from './output.ts'
import { ServerConnection, Unreachable } from './server-connection.ts'

interface CertFlags {
  readonly data?: string
  readonly endpoint?: string
  readonly out?: string
}

interface FoundAuthority {
  readonly pem: string
  /** The server or the directory that it belongs to, for people. */
  readonly of: string
}

export async function cert(flags: CertFlags): Promise<void> {
  const { out } = flags
  if (out !== undefined) requireParent(out)
  const { pem, of } = await findAuthority(flags)
  if (out === undefined) {
    process.stdout.write(pem)
    return
  }
  await writeFile(out, pem)
  process.stderr.write(
    [
      `Wrote ${out}, the authority of ${of}. To trust it:`,
      `  Node     NODE_EXTRA_CA_CERTS=${out}`,
      `  Python   REQUESTS_CA_BUNDLE=${out}`,
      `  Rust, Go SSL_CERT_FILE=${out} (on Linux)`,
      `  Java     keytool -importcert -noprompt -alias mayfly -file ${out} -cacerts -storepass changeit`,
      `  .NET     add it to the trusted root certificates of the user`,
      '',
    ].join('\n'),
  )
}

async function findAuthority({ data, endpoint }: CertFlags): Promise<FoundAuthority> {
  if (data !== undefined && endpoint !== undefined) {
    throw new RequestError('malformed', 'Give --data or --endpoint, not both: each says whose authority is meant.')
  }
  if (data !== undefined) {
    if (existsSync(data)) return authorityIn(data)
    throw new RequestError(
      'not_found',
      `There is no directory ${data}. Name the data directory of the server with --data; or run this without ` +
        '--data while the server runs.',
    )
  }
  const connection = new ServerConnection(endpoint === undefined ? {} : { endpoint })
  try {
    return { pem: await connection.authority(), of: `the server at ${connection.endpoint}` }
  } catch (error) {
    if (!(error instanceof Unreachable) || endpoint !== undefined) throw error
    const usual = String(settings({}, process.env).data)
    if (existsSync(certificateIn(usual))) return authorityIn(usual)
    throw new RequestError(
      'not_found',
      `There is no server at ${connection.endpoint}, and no certificate in ${usual}. Start the server, or name its ` +
        'address with --endpoint or its data directory with --data.',
      { cause: error },
    )
  }
}

/** If there is no certificate, or it expires soon, a new one is made: a server that starts there uses it. */
async function authorityIn(directory: string): Promise<FoundAuthority> {
  return { pem: (await certificateSource(directory)()).authority, of: directory }
}
