/** Compiles queries into their parts (compiled.ts); it knows how the clauses depend on each other. */

import { RequestError } from '../../base/error.ts'
import type { ComputedDefinition } from '../../query/statement.ts'
import { namesOf } from '../syntax/alias.ts'
import type { Expression, Query } from '../syntax/ast.ts'
import { QueryError } from '../syntax/diagnostic.ts'
import { selectExpressions, selectedAggregates } from '../syntax/select-list.ts'
import { isExpression, visit } from '../syntax/walk.ts'
import { type CompiledSelect, type GroupPlan, itemSlot, type OrderKey } from './compiled.ts'
import { compileAll, compileExpression, compileObject } from './evaluate.ts'
import { RowPipeline } from './row-pipeline.ts'
import { type Compilation, type Evaluator, type Grouping, NameScope } from './scope.ts'
import { compileSources } from './source.ts'

/** Most keys of one GROUP BY. Every part of the select list is compared with each of them. */
const queryGroupKeysMax = 64

export function compileSelect(
  query: Query,
  text: string,
  computed: readonly ComputedDefinition[] = [],
): CompiledSelect {
  const compilation: Compilation = {
    text,
    slots: itemSlot + 1,
    itemSlots: new Set([itemSlot]),
    computed: new Map(computed.map(definition => [definition.name, definition.query])),
    compileSubquery: (subquery, scope) => {
      refuseInSubquery(subquery, scope)
      const select = compileInScope(subquery, scope, false)
      return (frame, row) => {
        const pipeline = new RowPipeline(select, frame, value => {
          frame.context.budget.chargeSubqueryRow()
          return row(value)
        })
        const isWanted = select.bindRows(frame, () => pipeline.push())
        if (isWanted) pipeline.finish()
        pipeline.close()
      }
    },
  }
  return compileInScope(query, new NameScope(compilation), true)
}

function compileInScope(query: Query, parent: NameScope, isOutermost: boolean): CompiledSelect {
  const scope = new NameScope(parent.compilation, parent)
  const derived = isOutermost ? compileDerived(query, scope) : undefined
  const { bindRows, slots } = compileSources(query, scope, isOutermost ? (derived?.rowSlot ?? itemSlot) : undefined)
  const filter = query.where === undefined ? undefined : compileExpression(query.where, scope)
  const orderKeys = compileOrder(query, scope)
  const isGrouped = query.groupBy !== undefined || selectedAggregates(query).length > 0
  checkSelection(query, scope)
  const groups = isGrouped ? compileGroups(query, scope) : undefined
  const [starSlot] = slots
  return {
    query,
    slotCount: () => scope.compilation.slots,
    derived,
    bindRows,
    filter,
    groups: groups?.plan,
    orderKeys,
    steps: stepsOf(query),
    project: groups?.project ?? compileProjection(query, scope, starSlot),
    builds: query.selection.kind !== 'star' && (!isPathSelection(query) || scope.compilation.computed.size > 0),
  }
}

/** Nodes are evaluated in 5 to 10 ns each. Subqueries count for themselves. */
function stepsOf(query: Query): number {
  let nodes = 0
  visit(query, node => {
    nodes += 1
    return isExpression(node) || node === query
  })
  return 1 + nodes / 4
}

/**
 * A subquery directly after FROM sees the whole container and not one item, so `FROM (SELECT DISTINCT c.x
 * FROM c)` can be counted. It runs as a separate stage before this one.
 */
function compileDerived(query: Query, scope: NameScope): CompiledSelect['derived'] {
  const collection = query.sources[0]?.collection
  if (collection?.kind !== 'query') return undefined
  refuseInSubquery(collection.query, scope)
  const select = compileInScope(collection.query, new NameScope(scope.compilation), true)
  return { select, rowSlot: scope.allocate() }
}

function checkSelection(query: Query, scope: NameScope): void {
  if (query.selection.kind !== 'star') return
  if (query.groupBy !== undefined) {
    throw scope.error(query.selection, 'SC2041', "'SELECT *' is not allowed with GROUP BY.")
  }
  if (query.sources.length === 0) {
    throw scope.error(query.selection, 'SC2040', "'SELECT *' is not valid if FROM clause is omitted.")
  }
  if (query.sources.length > 1) {
    throw scope.error(query.selection, 'SC2040', "'SELECT *' is only valid with a single input set.")
  }
}

/** Refuses what the service does not allow in a subquery, in its own words. */
function refuseInSubquery(query: Query, scope: NameScope): void {
  if (query.orderBy?.isRank) {
    throw scope.error(query.orderBy, 'SC2228', 'The ORDER BY RANK clause is not supported in subqueries.')
  }
  if (query.orderBy !== undefined) {
    throw scope.error(query.orderBy, 'SC2202', "'ORDER BY' is not supported in subqueries.")
  }
  if (query.top !== undefined) throw scope.error(query.top, 'SC2203', "'TOP' is not supported in subqueries.")
  if (query.offset !== undefined) {
    throw scope.error(query.offset, 'SC2204', "'OFFSET LIMIT' clause is not supported in subqueries.")
  }
}

function isPathSelection({ selection }: Query): boolean {
  if (selection.kind !== 'value') return false
  let node = selection.expression
  while (node.kind === 'member' || node.kind === 'index') node = node.object
  return node.kind === 'identifier' || node.kind === 'literal'
}

function compileProjection(query: Query, scope: NameScope, starSlot = itemSlot): Evaluator {
  const { selection } = query
  if (selection.kind === 'value') return compileExpression(selection.expression, scope)
  if (selection.kind === 'list') {
    return compileObject(namesOf(selection.items), compileAll(selectExpressions(query), scope))
  }
  return frame => frame.values[starSlot]
}

function compileGroups(query: Query, scope: NameScope): { plan: GroupPlan; project: Evaluator } {
  if ((query.groupBy?.length ?? 0) > queryGroupKeysMax) {
    throw new RequestError('unsupported', `A GROUP BY has at most ${queryGroupKeysMax} keys.`)
  }
  const keys = (query.groupBy ?? []).map(key => ({
    evaluate: compileExpression(key, scope),
    slot: scope.allocate(),
    expression: key,
  }))
  const grouping: Grouping = { keys, aggregates: [], violations: [] }
  const project = compileProjection(query, new NameScope(scope.compilation, scope, grouping))
  if (grouping.violations.length > 0) {
    throw new QueryError('malformed', scope.compilation.text, grouping.violations)
  }
  return { plan: { keys, aggregates: grouping.aggregates, isSingle: query.groupBy === undefined }, project }
}

function compileOrder(query: Query, scope: NameScope): OrderKey[] {
  const { orderBy, groupBy } = query
  if (orderBy === undefined) return []
  if (orderBy.isRank) throw new RequestError('unsupported', 'ORDER BY RANK is not supported yet.')
  if (groupBy !== undefined) throw new RequestError('unsupported', 'ORDER BY cannot be combined with GROUP BY.')
  return orderBy.items.map(({ expression, direction }) => {
    if (!isDocumentPath(expression)) refuseOrder(expression, scope)
    return { evaluate: compileExpression(expression, scope), isDescending: direction === 'DESC' }
  })
}

function isDocumentPath(expression: Expression): boolean {
  let node = expression
  while (node.kind === 'member' || (node.kind === 'index' && node.index.kind === 'literal')) node = node.object
  return node.kind === 'identifier'
}

function refuseOrder(expression: Expression, scope: NameScope): never {
  // If the function is unknown or not supported, report that instead.
  if (expression.kind === 'call') compileExpression(expression, scope)
  const message = 'Unsupported ORDER BY clause. ORDER BY item expression could not be mapped to a document path.'
  throw new QueryError('malformed', scope.compilation.text, [{ code: 2206, message }])
}
