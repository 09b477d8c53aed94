/** The feed of a container, from a time or a position on. */

import { toEpochSeconds } from '../../base/clock.ts'
import type { ChangePosition } from '../../store/reading.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { ConflictError } from '../http/error-map.ts'
import { choiceOf, optionalWhole, wholeParameter } from '../http/fields.ts'
import { readFeed } from '../items/changes.ts'
import type { ExplorerService } from '../service/service.ts'
import { readToken, signToken } from '../service/tokens.ts'
import { requireContainer } from './containers.ts'

/** How far back a feed begins that does not say. */
const sinceDefaultS = 600

export async function showFeed(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const { engine, secret } = service
  const mode = choiceOf(call.query.get('mode'), 'mode', ['latest', 'all'], 'latest')
  if (mode === 'all' && container.logSeconds === null) {
    throw new ConflictError('The container keeps no log: set the retention of its change feed in the settings.')
  }
  const itemsMax = wholeParameter(call.query, 'limit', { min: 1, max: 500, otherwise: 200 })
  const scope = `feed ${mode} ${container.number}`
  const token = call.query.get('after')
  const since = optionalWhole(call.query, 'since') ?? Math.max(0, (await engine.moment()) - sinceDefaultS)
  const after =
    token !== null
      ? (readToken(secret, scope, token) as ChangePosition)
      : mode === 'latest'
        ? await engine.changesSince(container, toEpochSeconds(since))
        : '0'
  const found = await readFeed(engine, container, { mode, after, itemsMax })
  // Entries have left the log, and only its end has a position that is certainly in it.
  if (token === null && found.isForgotten) {
    const end = await engine.logNow(container)
    return { json: { changes: [], next: signToken(secret, scope, end), isEnd: true, isForgotten: true } }
  }
  // The log has no index by time: older entries are passed over here.
  const changes = token === null ? found.changes.filter(each => (each as { ts: number }).ts >= since) : found.changes
  const { position, isEnd, isForgotten } = found
  return { json: { changes, next: signToken(secret, scope, position), isEnd, isForgotten } }
}
