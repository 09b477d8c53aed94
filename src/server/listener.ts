/** Limits of the HTTP port and the Mongo port, and the errors of a port that cannot be opened. */

import { RequestError } from '../base/error.ts'

export interface Listener extends AsyncDisposable {
  readonly port: number
  /** Asks for the certificate again with the next connection. Open ones keep theirs. */
  renewCertificate(): void
}

/** A connection is closed when the headers of its request have not arrived by then (slow loris). */
export const headersTimeoutMs = 10_000

/** How long a stopping server waits for the requests that it is serving. */
export const drainMsMax = 10_000

/** An error that tells the user what to do. An unknown error stays as it is. */
export function explainListenError(
  error: NodeJS.ErrnoException,
  { host, port, portName }: { readonly host: string; readonly port: number; readonly portName: string },
): Error {
  const sentences: Record<string, string> = {
    EADDRINUSE:
      `Port ${port} on ${host} is taken by another program. ` +
      `Choose another with ${portName}; 0 takes any free one.`,
    EACCES: `Port ${port} on ${host} needs more rights than this process has. Choose one above 1023 with ${portName}.`,
    EADDRNOTAVAIL: `${host} is not an address of this machine.`,
  }
  const sentence = sentences[error.code ?? '']
  return sentence === undefined ? error : new RequestError('unsupported', sentence, { cause: error })
}
