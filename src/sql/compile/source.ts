/** Compiles FROM and JOIN: how one item becomes rows. */

import { RequestError } from '../../base/error.ts'
import { aliasOf } from '../syntax/alias.ts'
import type { FromCollection, FromSource, Query } from '../syntax/ast.ts'
import type { Frame } from '../values/run-context.ts'
import { isArray, type SqlValue } from '../values/value.ts'
import type { RowBinder } from './compiled.ts'
import { compileExpression } from './evaluate.ts'
import { type Evaluator, NameScope } from './scope.ts'

/** The service's documented limit for JOINs in one query. */
const queryJoinsMax = 10

/**
 * Compiles the sources of a query and defines their aliases in its scope. The first source of the outermost
 * query is the container, or a query derived from it; its rows come one by one in `containerSlot`.
 */
export function compileSources(
  query: Query,
  scope: NameScope,
  containerSlot: number | undefined,
): { bindRows: RowBinder; slots: readonly number[] } {
  if (query.sources.length - 1 > queryJoinsMax) {
    throw new RequestError('unsupported', `A query has at most ${queryJoinsMax} JOINs.`)
  }
  const sources = query.sources.map((source, index) =>
    compileSource(source, scope, index === 0 ? containerSlot : undefined),
  )
  const binders = sources.map(source => source.bind)
  return {
    bindRows: (frame, next) => bindFrom(binders, 0, frame, next),
    slots: sources.map(source => source.slot),
  }
}

function bindFrom(binders: readonly RowBinder[], index: number, frame: Frame, next: () => boolean): boolean {
  const binder = binders[index]
  return binder === undefined ? next() : binder(frame, () => bindFrom(binders, index + 1, frame, next))
}

interface CompiledSource {
  readonly bind: RowBinder
  readonly slot: number
}

function compileSource(source: FromSource, scope: NameScope, containerSlot: number | undefined): CompiledSource {
  const { collection, iterates } = source
  const alias = aliasOf(source)
  if (alias !== undefined && scope.definesItself(alias)) {
    const message = `The input alias '${alias}' is specified more than once in the FROM clause.`
    throw scope.error(source, 'SC2011', message)
  }
  if (collection.kind === 'query' && containerSlot === undefined) {
    const run = scope.compilation.compileSubquery(collection.query, scope)
    const slot = alias === undefined ? scope.allocate() : scope.define(alias)
    const bindValue = bindTo(slot, iterates)
    const bind: RowBinder = (frame, next) => {
      let goesOn = true
      run(frame, row => {
        goesOn = bindValue(frame, row, next)
        return goesOn
      })
      return goesOn
    }
    return { bind, slot }
  }
  const evaluate = compileCollection(collection, scope, containerSlot)
  const isItem = isWholeItem(source, scope, containerSlot)
  const slot = alias === undefined ? scope.allocate() : scope.define(alias)
  if (isItem) scope.compilation.itemSlots.add(slot)
  const bindValue = bindTo(slot, iterates)
  return { bind: (frame, next) => bindValue(frame, evaluate(frame), next), slot }
}

/** Whether the source is the item itself under another name. */
function isWholeItem({ collection, iterates }: FromSource, scope: NameScope, containerSlot?: number): boolean {
  if (iterates || collection.kind !== 'path' || collection.expression.kind !== 'identifier') return false
  const slot = containerSlot ?? scope.find(collection.expression.name)
  return slot !== undefined && scope.compilation.itemSlots.has(slot)
}

function compileCollection(collection: FromCollection, scope: NameScope, containerSlot: number | undefined): Evaluator {
  if (collection.kind === 'query') return frame => frame.values[containerSlot as number]
  const { expression } = collection
  if (containerSlot === undefined) return compileExpression(expression, scope)
  // The first name of the path always means the container.
  let first = expression
  while (first.kind === 'member' || first.kind === 'index') first = first.object
  const container = new NameScope(scope.compilation)
  if (first.kind === 'identifier') container.defineAt(first.name, containerSlot)
  return compileExpression(expression, container)
}

type ValueBinder = (frame: Frame, value: SqlValue, next: () => boolean) => boolean

function bindTo(slot: number, iterates: boolean): ValueBinder {
  if (!iterates) {
    return (frame, value, next) => {
      if (value === undefined) return true
      frame.values[slot] = value
      return next()
    }
  }
  return (frame, value, next) => {
    if (!isArray(value)) return true
    for (const element of value) {
      frame.context.budget.chargeJoinRow()
      frame.values[slot] = element
      if (!next()) return false
    }
    return true
  }
}
