/** mayfly cert: prints the certificate that clients must trust for https. Makes it if there is none. */

import { mkdir, writeFile } from 'node:fs/promises'
import { certificateSource } from '../server/certificate.ts'

export async function cert({ data, out }: { data: string; out?: string }): Promise<void> {
  await mkdir(data, { recursive: true, mode: 0o700 })
  const certificate = await certificateSource(data)()
  if (out === undefined) {
    process.stdout.write(certificate.cert)
    return
  }
  await writeFile(out, certificate.cert)
  process.stderr.write(
    [
      `Wrote ${out}. To trust it:`,
      `  Node     NODE_EXTRA_CA_CERTS=${out}`,
      `  Python   REQUESTS_CA_BUNDLE=${out}`,
      `  Java     keytool -importcert -noprompt -alias mayfly -file ${out} -cacerts -storepass changeit`,
      `  .NET     add it to the trusted root certificates of the user`,
      '',
    ].join('\n'),
  )
}
