/** The connection string that clients are given. */

/**
 * The user is the emulator's. A client that is told to connect directly never looks for other members of the
 * replica set, so it also works through a tunnel or a forwarded port; it keeps sessions, retryable writes and
 * transactions all the same.
 */
export function mongoUri({
  host,
  port,
  key,
}: {
  readonly host: string
  readonly port: number
  readonly key: string
}): string {
  return `mongodb://localhost:${encodeURIComponent(key)}@${host}:${port}/?directConnection=true`
}
