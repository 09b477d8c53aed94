/** The feed of a container: its newest changes, or those behind a position. */

import { toEpochSeconds } from '../../base/clock.ts'
import type { ChangePosition } from '../../store/reading.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { ConflictError } from '../http/error-map.ts'
import { choiceOf, optionalWhole, wholeParameter } from '../http/fields.ts'
import { readFeed, readNewest } from '../items/changes.ts'
import type { ExplorerService } from '../service/service.ts'
import { readToken, signToken } from '../service/tokens.ts'
import { requireContainer } from './containers.ts'

/** How far back a feed begins if the page does not say. */
const sinceDefaultS = 3600

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
  if (token === null) {
    const moment = await engine.moment()
    const since = toEpochSeconds(optionalWhole(call.query, 'since') ?? Math.max(0, moment - sinceDefaultS))
    const { position, ...newest } = await readNewest(engine, container, { mode, since, itemsMax })
    return { json: { ...newest, next: signToken(secret, scope, position), isEnd: true } }
  }
  const after = readToken(secret, scope, token) as ChangePosition
  const { changes, position, isEnd, isForgotten } = await readFeed(engine, container, { mode, after, itemsMax })
  return { json: { changes, next: signToken(secret, scope, position), isEnd, isForgotten, isCut: false } }
}
