/** Signs requests with the master key, as every client of the protocol does. */

import { createHmac, createSecretKey } from 'node:crypto'

/** The well-known key of the Microsoft emulator, which is also Mayfly's default on loopback. */
export const MASTER_KEY = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=='

const key = createSecretKey(Buffer.from(MASTER_KEY, 'base64'))

export interface Signed {
  readonly method: string
  /** `docs`, `colls`, `dbs`, or empty for the account. */
  readonly resourceType: string
  /** The un-encoded resource link: the parent's for a feed, the resource's own otherwise. */
  readonly resourceLink: string
  readonly date: string
}

export function authorization({ method, resourceType, resourceLink, date }: Signed): string {
  const text = `${method.toLowerCase()}\n${resourceType}\n${resourceLink}\n${date.toLowerCase()}\n\n`
  const signature = createHmac('sha256', key).update(text).digest('base64')
  return encodeURIComponent(`type=master&ver=1.0&sig=${signature}`)
}

export function httpDate(epochMs: number): string {
  return new Date(epochMs).toUTCString()
}
