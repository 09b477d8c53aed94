/**
 * User-defined functions in queries: loads the functions that a query calls, and provides them for one page.
 */

import { RequestError } from '../../base/error.ts'
import type { PreparedQuery } from '../../sql/prepare.ts'
import { isExpression, visit } from '../../sql/syntax/walk.ts'
import type { SqlValue } from '../../sql/values/value.ts'
import type { ContainerView } from '../http/container-view.ts'
import type { Service } from '../http/request.ts'
import { findScript } from './script-store.ts'

export type CallUserDefined = (name: string, values: readonly SqlValue[]) => SqlValue

const names = new WeakMap<PreparedQuery, ReadonlySet<string>>()

/** The names of the functions that a query calls. */
export function functionsIn(prepared: PreparedQuery): ReadonlySet<string> {
  let found = names.get(prepared)
  if (found === undefined) {
    const called = new Set<string>()
    visit(prepared.query, node => {
      if (isExpression(node) && node.kind === 'call' && node.isUserDefined) called.add(node.name)
      return true
    })
    found = called
    names.set(prepared, found)
  }
  return found
}

/** Runs a page with the functions it calls, or with undefined if it calls none. */
export async function withFunctions<T>(
  service: Service,
  view: ContainerView,
  prepared: PreparedQuery,
  run: (callUserDefined: CallUserDefined | undefined) => Promise<T>,
): Promise<T> {
  const needed = functionsIn(prepared)
  if (needed.size === 0) return run(undefined)
  const bodies = new Map<string, string>()
  for (const name of needed) {
    const found = await findScript(service.engine, view, 'udfs', name)
    if (found === undefined) {
      throw new RequestError('malformed', `'${name}' is not a recognized user-defined function name.`)
    }
    bodies.set(name, found.body)
  }
  const moment = await service.engine.moment()
  using session = await service.functions.open({ bodies, epochMs: moment * 1000 })
  return await run((name, values) => session.call(name, values as never) as SqlValue)
}
