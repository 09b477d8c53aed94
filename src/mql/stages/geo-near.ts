/** `$geoNear`: sorts documents by distance from a point, nearest first, and adds the distance. */

import { isNumeric, toDouble } from '../../document/bson/number.ts'
import { keyOfValue } from '../../document/bson/ordered-key.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, double, type Value, valueAt } from '../../document/bson/value.ts'
import { isTrue, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import type { Compiler } from '../expressions/core/scope.ts'
import { distanceTo, earthRadius } from '../filter/geo-distance.ts'
import { type NearCondition, parseGeo, shapeOf } from '../filter/parse-geo.ts'
import { checkedPath } from '../paths/expression-path.ts'
import { documentTest, type ElementTest, pathTest } from '../paths/stored-path.ts'
import { withPath } from './nested-field.ts'
import { Sorter } from './sort.ts'
import { documentBytes, forEachDocument, inBatches, type Stage, type StageCompiler } from './stage.ts'

const options: ReadonlySet<string> = new Set([
  'near',
  'distanceField',
  'spherical',
  'maxDistance',
  'minDistance',
  'query',
  'distanceMultiplier',
  'includeLocs',
  'key',
])

interface Near {
  readonly condition: NearCondition
  readonly key: string
  readonly distancePath: readonly string[]
  readonly locationPath: readonly string[] | undefined
  /** Converts radians, or the units of the coordinates, to the reported distance. */
  readonly factor: number
}

/** The `query` of the stage. It runs before distances are computed. */
export function geoNearFilter(spec: Value): BsonDocument {
  const query = spec.type === bsonType.document ? spec.get('query') : undefined
  if (query === undefined) return BsonDocument.of([])
  return query.type === bsonType.document ? query : refuse(14, 'query must be an object')
}

function numberOption(spec: BsonDocument, name: string): number | undefined {
  const value = spec.get(name)
  if (value === undefined) return undefined
  if (!isNumeric(value)) return refuse(14, `${name} must be a number`)
  const number = toDouble(value)
  return number >= 0 ? number : refuse(2, `${name} must be nonnegative`)
}

function readNear(spec: BsonDocument, expressions: Compiler, geoPath: string | undefined): Near {
  for (const [name] of spec.fields) {
    if (name === 'limit' || name === 'num') {
      const problem = `$geoNear no longer supports the '${name}' parameter. Use a $limit stage instead.`
      refuse(name === 'limit' ? 50858 : 50857, problem)
    }
    if (!options.has(name)) refuse(2, `Unrecognized option to $geoNear: ${name}`)
  }
  const nearSpec = spec.get('near') ?? refuse(5860400, "$geoNear requires a 'near' argument")
  const constant = expressions.constant(nearSpec) ?? refuse(5860402, '$geoNear requires a constant near argument')
  const near = constant.value
  if (near?.type !== bsonType.document && near?.type !== bsonType.array) {
    return refuse(5860401, '$geoNear requires near argument to be a GeoJSON object or a legacy point(array)')
  }
  const distanceField = spec.get('distanceField')
  if (distanceField?.type !== bsonType.string) {
    return refuse(16606, "$geoNear requires a 'distanceField' option as a String")
  }
  const location = spec.get('includeLocs')
  if (location !== undefined && location.type !== bsonType.string) {
    return refuse(16607, "$geoNear requires that 'includeLocs' option is a String")
  }
  const isGeoJson = near.type === bsonType.document && near.get('type') !== undefined
  return {
    condition: conditionOf(spec, near, isGeoJson),
    key: keyOf(spec.get('key'), geoPath),
    distancePath: checkedPath(distanceField.value),
    locationPath: location === undefined ? undefined : checkedPath(location.value),
    factor: (isGeoJson ? earthRadius : 1) * (numberOption(spec, 'distanceMultiplier') ?? 1),
  }
}

/** The equivalent `$near` or `$nearSphere` condition. */
function conditionOf(spec: BsonDocument, near: Value, isGeoJson: boolean): NearCondition {
  const isSphere = isGeoJson || isTrue(spec.get('spherical'))
  const bounds = (['minDistance', 'maxDistance'] as const).flatMap(name => {
    const distance = numberOption(spec, name)
    return distance === undefined ? [] : [[`$${name}`, double(distance)] as const]
  })
  const operand = isGeoJson ? BsonDocument.of([['$geometry', near], ...bounds]) : near
  const operators = BsonDocument.of([[isSphere ? '$nearSphere' : '$near', operand], ...(isGeoJson ? [] : bounds)])
  return parseGeo(operators, true) as NearCondition
}

function keyOf(key: Value | undefined, geoPath: string | undefined): string {
  if (key === undefined) {
    return geoPath ?? refuse(27, '$geoNear requires a 2d or 2dsphere index, but none were found')
  }
  if (key.type !== bsonType.string) {
    return refuse(14, `$geoNear parameter 'key' must be of type string but found type: ${nameOfType(key)}`)
  }
  return key.value === '' ? refuse(2, "$geoNear parameter 'key' cannot be the empty string") : key.value
}

interface NearestLocation {
  readonly distance: number
  readonly location: Value
}

/** Finds the nearest of the locations that a document has at a path. */
function nearestLocationFinder(
  key: string,
  { center, isSphere }: NearCondition,
): (document: Uint8Array) => NearestLocation | undefined {
  let nearest: NearestLocation | undefined
  const look: ElementTest = (bytes, type, start) => {
    if (type !== bsonType.document && type !== bsonType.array) return false
    const location = valueAt(bytes, type, start)
    const shape = shapeOf(location)
    const found = shape === undefined ? Number.POSITIVE_INFINITY : distanceTo(shape, center, isSphere)
    if (found < (nearest?.distance ?? Number.POSITIVE_INFINITY)) nearest = { distance: found, location }
    return false
  }
  const test = documentTest(pathTest(key, look, { entersLastArray: true }))
  return document => {
    nearest = undefined
    test(document, 0, undefined)
    return nearest
  }
}

/** `limit` is the number of documents that the following stages need. */
export function geoNearStage(spec: Value, compiler: StageCompiler, limit: number | undefined): Stage {
  if (spec.type !== bsonType.document) return refuse(10065, 'invalid parameter: expected an object ($geoNear)')
  const { condition, key, distancePath, locationPath, factor } = readNear(spec, compiler.expressions, compiler.geoPath)
  const find = nearestLocationFinder(key, condition)
  return {
    name: '$geoNear',
    async *run(input, { slice }) {
      using sorter = new Sorter(limit ?? Number.POSITIVE_INFINITY)
      await forEachDocument(input, slice, document => {
        const found = find(documentBytes(document))
        if (found === undefined || found.distance < condition.min || found.distance > condition.max) return
        const measured = withPath(document, distancePath, double(found.distance * factor))
        const output = locationPath === undefined ? measured : withPath(measured, locationPath, found.location)
        sorter.add(keyOfValue(double(found.distance)), output)
      })
      yield* inBatches(await sorter.documents(slice), slice)
    },
  }
}
