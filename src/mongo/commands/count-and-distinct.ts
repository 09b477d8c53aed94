/** count and distinct: how many documents match a filter, and which values they have at a path. */

import { CommandError } from '../answers/command-error.ts'
import { emptyDocument, type Fields } from '../answers/fields.ts'
import { withHint } from '../collections/hint.ts'
import { findReadable, ResolvedView } from '../collections/views.ts'
import { countDocuments, distinctValues } from '../find/documents.ts'
import { countInView, distinctInView } from '../pipeline/view-reads.ts'
import { collationOfCall } from '../requests/collation.ts'
import { namespaceOf } from '../requests/namespace.ts'
import { catalogOf } from '../service/call-collections.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { compileCallFilter } from '../service/query-language.ts'

async function count(call: CommandCall): Promise<Fields> {
  const { args, service, isInTransaction } = call
  const namespace = namespaceOf(call)
  const query = args.document('query') ?? emptyDocument
  const collection = await findReadable(service.engine, namespace)
  if (collection instanceof ResolvedView) return countInView(call, namespace)
  const asked = { matcher: compileCallFilter(call, query, await collationOfCall(args, collection)) }
  const { matcher } = withHint(args, collection, asked)
  const skip = args.count('skip') ?? 0
  const limit = args.magnitude('limit') ?? 0
  if (collection === undefined) return { n: 0 }
  const isAll = query.isEmpty && !isInTransaction && matcher.hint === undefined
  const all = isAll
    ? await service.engine.reports.countLiving(collection.container)
    : await countDocuments(call, collection, matcher)
  const behind = Math.max(0, all - skip)
  return { n: limit === 0 ? behind : Math.min(limit, behind) }
}

async function distinct(call: CommandCall): Promise<Fields> {
  const { args } = call
  const namespace = namespaceOf(call)
  const path = args.requiredString('key')
  if (path === '') throw new CommandError(40352, 'FieldPath cannot be constructed with empty string')
  const collection = await findReadable(catalogOf(call), namespace)
  if (collection instanceof ResolvedView) return distinctInView(call, namespace, path)
  const collation = await collationOfCall(args, collection)
  const asked = { matcher: compileCallFilter(call, args.document('query') ?? emptyDocument, collation) }
  const { matcher } = withHint(args, collection, asked)
  const values = collection === undefined ? [] : await distinctValues(call, collection, { matcher, path })
  return { values, atClusterTime: call.snapshot?.time }
}

export const countAndDistinctCommands: readonly Command[] = [
  { name: 'count', fields: ['query', 'limit', 'skip', 'hint', 'collation', 'fields'], run: count },
  { name: 'distinct', fields: ['key', 'query', 'collation', 'hint'], isTransactional: true, run: distinct },
]
