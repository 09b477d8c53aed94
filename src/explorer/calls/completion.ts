/** Completions for an editor: functions of the language, and paths that are sampled from items. */

import { KiB } from '../../base/limits.ts'
import { heldHere } from '../../base/memory-account.ts'
import { nextSlice } from '../../base/slices.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { accumulators } from '../../mql/accumulators/statement.ts'
import { operatorFamilies } from '../../mql/expressions/operators/table.ts'
import { filterOperators } from '../../mql/filter/filter.ts'
import { conditionOperators } from '../../mql/filter/filter-operators.ts'
import { stages } from '../../mql/stages/table.ts'
import { functionFamilies } from '../../sql/functions/table.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import type { ExplorerService } from '../service/service.ts'
import { requireContainer } from './containers.ts'

const sampledMax = 200
const pathsMax = 500
/** To look at a larger item takes a part of a millisecond. */
const largeBytes = 64 * KiB
const depthMax = 6
/** Elements of an array that are looked at. */
const elementsMax = 20

const keywords = [
  ...['SELECT', 'VALUE', 'DISTINCT', 'TOP', 'FROM', 'IN', 'JOIN', 'WHERE', 'AND', 'OR', 'NOT', 'BETWEEN', 'LIKE'],
  ...['ESCAPE', 'EXISTS', 'ARRAY', 'GROUP BY', 'ORDER BY', 'ASC', 'DESC', 'OFFSET', 'LIMIT', 'AS', 'ALL'],
  ...['true', 'false', 'null', 'undefined', 'udf'],
]

interface Seen {
  readonly types: Set<string>
  items: number
  last: number
}

export async function complete(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const size = { itemsMax: sampledMax, examineMax: sampledMax }
  const { items, bytes } = await service.engine.listLives(container, { filter: 'all', order: 'newest' }, {}, size)
  heldHere()?.add(bytes)
  const seen = new Map<string, Seen>()
  for (const [item, { body }] of items.entries()) {
    const note = noting(seen, item)
    if (typeof body === 'string') walkJson(JSON.parse(body), '', 0, note)
    else walkBson(BsonDocument.view(body), '', 0, note)
    if (body.length >= largeBytes) await nextSlice()
  }
  const paths = [...seen]
    .map(([path, { types, items: count }]) => ({
      path,
      types: [...types],
      share: Math.round((count / items.length) * 100) / 100,
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
  const shared = { paths, sampled: items.length }
  if (container.encoding === 'bson') {
    return { json: { ...shared, operators: mongoOperators() } }
  }
  const { body } = await service.nosql.ask({
    method: 'GET',
    path: ['dbs', container.database.id, 'colls', container.id, 'udfs'],
  })
  const functions = (JSON.parse(body) as { UserDefinedFunctions: { id: string }[] }).UserDefinedFunctions
  return {
    json: { ...shared, functions: sqlFunctions(), userFunctions: functions.map(({ id }) => id), keywords },
  }
}

function mongoOperators(): readonly string[] {
  const expressions = Object.values(operatorFamilies).flatMap(family => Object.keys(family))
  const all = [
    ...Object.keys(stages),
    ...filterOperators,
    ...conditionOperators,
    ...Object.keys(accumulators),
    ...expressions,
  ]
  return [...new Set(all)].filter(name => name.startsWith('$')).sort()
}

function sqlFunctions(): readonly object[] {
  const found: object[] = []
  for (const [family, functions] of Object.entries(functionFamilies)) {
    if (family === 'not supported') continue
    for (const [names, { argumentsMin, argumentsMax }] of Object.entries(functions)) {
      const [name = ''] = names.split(' ')
      found.push({ name, signature: `${name}(${argumentsText(argumentsMin, argumentsMax)})`, family })
    }
  }
  return found
}

function argumentsText(min: number, max: number): string {
  const needed = Array.from({ length: min }, (_, at) => `a${at + 1}`).join(', ')
  return max > min ? `${needed}${min > 0 ? ', ' : ''}…` : needed
}

type Note = (path: string, type: string) => boolean

/** Returns a function that notes a path. It answers false when there are enough paths. */
function noting(seen: Map<string, Seen>, item: number): Note {
  return (path, type) => {
    let found = seen.get(path)
    if (found === undefined) {
      if (seen.size >= pathsMax) return false
      found = { types: new Set(), items: 0, last: -1 }
      seen.set(path, found)
    }
    found.types.add(type)
    if (found.last !== item) found.items++
    found.last = item
    return true
  }
}

function walkJson(value: unknown, path: string, depth: number, note: Note): void {
  if (path !== '' && !note(path, value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)) return
  if (typeof value !== 'object' || value === null || depth >= depthMax) return
  if (Array.isArray(value)) {
    for (const element of value.slice(0, elementsMax)) walkJson(element, `${path}[]`, depth + 1, note)
    return
  }
  for (const [name, field] of Object.entries(value).slice(0, pathsMax))
    walkJson(field, within(path, name), depth + 1, note)
}

function walkBson(value: Value, path: string, depth: number, note: Note): void {
  if (path !== '' && !note(path, typeName(value.type))) return
  if (depth >= depthMax) return
  if (value.type === bsonType.array) {
    for (const element of value.elements.slice(0, elementsMax)) walkBson(element, `${path}[]`, depth + 1, note)
  } else if (value.type === bsonType.document) {
    for (const [name, field] of value.fields.slice(0, pathsMax)) walkBson(field, within(path, name), depth + 1, note)
  }
}

function within(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`
}
