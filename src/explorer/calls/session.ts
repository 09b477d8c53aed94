/** The session of the caller: its rights, how to connect to this server, login and logout. */

import { wellKnownKey } from '../../base/account-keys.ts'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { KiB } from '../../base/limits.ts'
import type { KeyAttempts } from '../access/attempts.ts'
import type { Visitor } from '../access/guard.ts'
import { type LoginSessions, sessionCookie } from '../access/sessions.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { textField } from '../http/fields.ts'
import type { ExplorerService } from '../service/service.ts'

export function showSession(service: ExplorerService, { req, caller }: Pick<ApiCall, 'req' | 'caller'>): ApiAnswer {
  const { needsLogin, mayRead, mayWrite, session } = caller
  const open = { product: 'mayfly', needsLogin, isLoggedIn: session !== undefined || !needsLogin, mayWrite }
  if (!mayRead) return { json: open }
  const { version, engine, clock, keys, storeName, keepsData, strict, startedMs, mongoPort } = service
  const host = req.headers.host ?? 'localhost'
  const endpoint = `${isEncrypted(req) ? 'https' : 'http'}://${host}`
  const key = keys.primary === wellKnownKey ? wellKnownKey : null
  const port = mongoPort()
  const password = key === null ? '<key>' : encodeURIComponent(key)
  const name = host.replace(/:\d+$/, '')
  return {
    json: {
      ...open,
      version,
      endpoint,
      mongoUri: port === undefined ? null : `mongodb://localhost:${password}@${name}:${port}/?directConnection=true`,
      key,
      connectionString: `AccountEndpoint=${endpoint}/;AccountKey=${key ?? '<key>'};`,
      store: storeName,
      keepsData,
      rateLimit: engine.isRateLimited,
      strict,
      clock: { mode: clock.mode, nowMs: clock.nowMs(), machineMs: machine.epochMs() },
      startedMs,
    },
  }
}

/**
 * Strangers send it. It must stay below the size from which on bodies are counted: otherwise many strangers
 * would take the room of others.
 */
const loginBytesMax = 8 * KiB

export async function logIn(
  service: ExplorerService,
  call: ApiCall,
  {
    sessions,
    attempts,
    callerOf,
  }: { sessions: LoginSessions; attempts: KeyAttempts; callerOf: (token: string) => Visitor },
): Promise<ApiAnswer> {
  const { req } = call
  const address = req.socket.remoteAddress ?? ''
  const given = textField(await call.body(loginBytesMax), 'key').trim()
  // Checked after the body has arrived: calls that still wait for their bodies would all pass.
  attempts.check(address)
  const key = service.keys.find(given)
  if (key === undefined) {
    attempts.failed(address)
    throw new RequestError('unauthenticated', 'This is not a key of the account.')
  }
  attempts.succeeded(address)
  const token = sessions.begin(key)
  const answer = showSession(service, { req, caller: callerOf(token) })
  return { ...(answer as Exclude<ApiAnswer, 'streamed'>), headers: { 'set-cookie': cookie(req, token) } } as ApiAnswer
}

export function logOut({ req, caller }: ApiCall, sessions: LoginSessions): ApiAnswer {
  if (caller.session !== undefined) sessions.end(caller.session)
  return { status: 204, headers: { 'set-cookie': `${cookie(req, '')}; Max-Age=0` } }
}

function cookie(req: ApiCall['req'], token: string): string {
  const secure = isEncrypted(req) ? '; Secure' : ''
  return `${sessionCookie}=${token}; Path=/_explorer; HttpOnly; SameSite=Strict${secure}`
}

export function isEncrypted({ socket }: ApiCall['req']): boolean {
  return 'encrypted' in socket && socket.encrypted === true
}
