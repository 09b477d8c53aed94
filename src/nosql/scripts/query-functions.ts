/**
 * User-defined functions in queries: loads the functions that a query calls, and provides them for one page.
 */

import { RequestError } from '../../base/error.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { lookAtWork } from '../../base/work.ts'
import type { Engine } from '../../engine/engine.ts'
import { indexesKeepChanging } from '../../engine/query.ts'
import type { StatementFunctions } from '../../query/statement.ts'
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

/** The functions that a query calls, as plain data; undefined if it calls none. */
export function findFunctions(
  { engine }: Service,
  view: ContainerView,
  prepared: PreparedQuery,
): MaybePromise<StatementFunctions | undefined> {
  const needed = functionsIn(prepared)
  return needed.size === 0 ? undefined : load(engine, view, needed)
}

async function load(engine: Engine, view: ContainerView, needed: ReadonlySet<string>): Promise<StatementFunctions> {
  const bodies = new Map<string, string>()
  for (const name of needed) {
    const found = await findScript(engine, view, 'udfs', name)
    if (found === undefined) {
      throw new RequestError('malformed', `'${name}' is not a recognized user-defined function name.`)
    }
    bodies.set(name, found.body)
  }
  return { bodies, epochMs: (await engine.moment()) * 1000 }
}

/**
 * For a program in the thread of the requests, which must not wait for functions. Such a program runs here
 * only if the indexes keep changing.
 */
export const callsElsewhere: CallUserDefined = () => {
  throw indexesKeepChanging()
}

/** Runs a query with the functions it calls. They are called from this thread, under the work's watch. */
export async function withFunctions<T>(
  service: Service,
  view: ContainerView,
  prepared: PreparedQuery,
  run: (callUserDefined: CallUserDefined | undefined) => Promise<T>,
): Promise<T> {
  const found = await findFunctions(service, view, prepared)
  if (found === undefined) return run(undefined)
  using session = await service.functions.open(found)
  return await run((name, values) => {
    const value = session.call(name, values as never) as SqlValue
    // A call counts no steps, and may take milliseconds.
    lookAtWork()
    return value
  })
}
