/** mayfly cert: prints the authority that clients must trust for https. Makes it if there is none. */

import { writeFile } from 'node:fs/promises'
import { certificateSource } from '../server/tls/certificate.ts'

export async function cert({ data, out }: { data: string; out?: string }): Promise<void> {
  const { authority } = await certificateSource(data)()
  if (out === undefined) {
    process.stdout.write(authority)
    return
  }
  await writeFile(out, authority)
  process.stderr.write(
    [
      `Wrote ${out}. To trust it:`,
      `  Node     NODE_EXTRA_CA_CERTS=${out}`,
      `  Python   REQUESTS_CA_BUNDLE=${out}`,
      `  Rust, Go SSL_CERT_FILE=${out} (on Linux)`,
      `  Java     keytool -importcert -noprompt -alias mayfly -file ${out} -cacerts -storepass changeit`,
      `  .NET     add it to the trusted root certificates of the user`,
      '',
    ].join('\n'),
  )
}
