/** count and distinct. */

import { MiB } from '../../base/limits.ts'
import { keyOfValue } from '../../document/bson/ordered-key.ts'
import type { Value } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import { emptyDocument, type Fields } from '../answers/fields.ts'
import { findCollection } from '../collections/collections.ts'
import { checkHint } from '../collections/hint.ts'
import { distinctValues } from '../find/distinct-values.ts'
import { countDocuments, matchingDocuments } from '../find/documents.ts'
import { namespaceOf } from '../requests/namespace.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { compileCallFilter, refuseCollation } from '../service/query-language.ts'

/** `distinct` answers in one document, so this is MongoDB's limit for a document. */
const mongoDistinctBytesMax = 16 * MiB

async function count(call: CommandCall): Promise<Fields> {
  const { args, service, isInTransaction } = call
  const namespace = namespaceOf(call)
  refuseCollation(args)
  const query = args.document('query') ?? emptyDocument
  const matcher = compileCallFilter(call, query)
  const collection = await findCollection(service.engine, namespace)
  checkHint(args, collection)
  const skip = args.count('skip') ?? 0
  const limit = Math.abs(args.number('limit') ?? 0)
  if (collection === undefined) return { n: 0 }
  const isAll = query.isEmpty && !isInTransaction
  const all = isAll
    ? await service.engine.reports.countLiving(collection.container)
    : await countDocuments(call, collection, matcher)
  const behind = Math.max(0, all - skip)
  return { n: limit === 0 ? behind : Math.min(limit, behind) }
}

async function distinct(call: CommandCall): Promise<Fields> {
  const { args, service } = call
  const namespace = namespaceOf(call)
  refuseCollation(args)
  const path = args.requiredString('key')
  if (path === '') throw new CommandError(40352, 'FieldPath cannot be constructed with empty string')
  const matcher = compileCallFilter(call, args.document('query') ?? emptyDocument)
  const collection = await findCollection(service.engine, namespace)
  checkHint(args, collection)
  const found = new Map<string, Value>()
  let bytes = 0
  const valuesOf = distinctValues(path)
  if (collection !== undefined) {
    for await (const batch of matchingDocuments(call, collection, matcher)) {
      for (const document of batch) {
        for (const value of valuesOf(document)) {
          const key = Buffer.from(keyOfValue(value)).toString('latin1')
          if (found.has(key)) continue
          found.set(key, value)
          bytes += key.length
          if (bytes > mongoDistinctBytesMax) throw new CommandError(17217, 'distinct too big, 16mb cap')
        }
      }
    }
  }
  const values = [...found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
  return { values }
}

export const countAndDistinctCommands: readonly Command[] = [
  { name: 'count', fields: ['query', 'limit', 'skip', 'hint', 'collation', 'fields'], run: count },
  { name: 'distinct', fields: ['key', 'query', 'collation', 'hint'], isTransactional: true, run: distinct },
]
