/** Checks whether a PostgreSQL can be used, before anything is created there, and says why not. */

import { MayflyError, RequestError } from '../../../base/error.ts'
import { objectionToNode } from './citus.ts'
import type { PostgresSession } from './connections.ts'
import { codeOf, isCrowded, isLost, isWorkerCrowded, translate, workerOf } from './errors.ts'

/** The oldest PostgreSQL that is still maintained; nothing here is tried with older ones. */
const postgresVersionMin = 140_000

interface Facts {
  version: number
  version_text: string
  encoding: string
  is_standby: boolean
  read_only: string
  commits: string
}

const factsText = `
  SELECT current_setting('server_version_num')::int AS version, current_setting('server_version') AS version_text,
    current_setting('server_encoding') AS encoding, pg_is_in_recovery() AS is_standby,
    current_setting('default_transaction_read_only') AS read_only, current_setting('synchronous_commit') AS commits`

export async function requireUsable(session: PostgresSession): Promise<void> {
  const [facts] = (await session.query(factsText)).rows as [Facts]
  const objection = objectionTo(facts) ?? (await objectionToNode(session))
  if (objection !== undefined) throw new RequestError('unsupported', objection)
}

export function objectionTo(facts: Facts): string | undefined {
  if (facts.version < postgresVersionMin) {
    return `PostgreSQL ${facts.version_text} is too old: Mayfly needs ${postgresVersionMin / 10_000} or newer.`
  }
  if (facts.encoding !== 'UTF8') {
    const command = "CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0"
    return `The database is encoded in ${facts.encoding}. Make one in UTF8: ${command}.`
  }
  if (facts.is_standby) return 'This PostgreSQL is a standby and takes no writes. Give the address of the primary.'
  if (facts.read_only === 'on') return 'The database takes no writes (default_transaction_read_only = on).'
  // P2: a write that is acknowledged survives a crash.
  if (facts.commits === 'off') {
    const sentence = 'PostgreSQL acknowledges writes before they are on disk (synchronous_commit = off).'
    return `${sentence} Set it to on for this database.`
  }
  return undefined
}

/** What went wrong while opening, with the names from the URL, and never its password. */
export function whyNot(error: unknown, url: string): Error {
  if (error instanceof MayflyError && error.kind !== 'unavailable') return error
  const cause = error instanceof MayflyError ? error.cause : error
  const { hostname, port, username, pathname } = URL.parse(url) ?? {}
  const place = `${hostname || 'localhost'}:${port || 5432}`
  const user = decodeURIComponent(username || 'this user')
  const database = decodeURIComponent(pathname?.slice(1) || user)
  const say = (sentence: string) => new RequestError('unsupported', sentence, { cause: error })
  const code = codeOf(cause)
  if (code.startsWith('28')) return say(`PostgreSQL at ${place} does not let ${user} in: check user and password.`)
  if (code === '3D000') return say(`There is no database ${database} in PostgreSQL at ${place}. Make it first.`)
  if (code === '42501') {
    const command = `GRANT CREATE ON DATABASE "${database}" TO "${user}"`
    return say(`${user} may not make or use the schema mayfly in ${database}. Let it: ${command}.`)
  }
  if (isWorkerCrowded(cause)) {
    const worker = workerOf(cause)
    const which = worker === undefined ? 'A worker of the cluster' : `The worker ${worker} of the cluster`
    const command = `ALTER ROLE "${user}" CONNECTION LIMIT -1`
    return say(`${which} has no connection left for ${user}. Let it have more, on every node: ${command}.`)
  }
  if (isCrowded(cause)) return say(`PostgreSQL at ${place} has no connection left for ${user}.`)
  if (isLost(cause) && workerOf(cause) !== undefined) {
    return say(`PostgreSQL at ${place} does not reach a worker of its cluster: ${(cause as Error).message}.`)
  }
  if (isLost(cause)) return say(`PostgreSQL at ${place} cannot be reached (${code || (cause as Error).message}).`)
  return translate(error)
}
