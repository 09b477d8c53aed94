/** The connection string that clients are given. */

/**
 * The user is the emulator's. `directConnection` keeps a client from looking for other members of the
 * replica set, so it also works through a tunnel or a forwarded port. Sessions, retryable writes and
 * transactions still work.
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
