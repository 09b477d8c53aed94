/**
 * Parses the geographic operators of filters.
 *
 *   { $geoWithin: { $geometry | $box | $polygon | $center | $centerSphere } }
 *   { $geoIntersects: { $geometry } }
 *   { $near | $nearSphere: { $geometry, $minDistance, $maxDistance } }   metres
 *   { $near | $nearSphere: GeoJSON point, $minDistance, $maxDistance }   metres
 *   { $near: [x, y], $maxDistance }                                      units of the coordinates, in a plane
 *   { $nearSphere: [x, y], $maxDistance }                                radians
 *   { $near | $nearSphere: [x, y, maxDistance] }                         the same, shorter
 *
 * Distances on the earth use MongoDB's earth radius.
 */

import { isNumeric, toDouble } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonArray, BsonDocument, Value } from '../../document/bson/value.ts'
import { type Position, readShape, type Shape } from '../../document/geometry.ts'
import { badValue, MongoError } from '../errors/mongo-error.ts'
import { printElement, printValue } from '../errors/print.ts'
import { earthRadius } from './geo-distance.ts'
import { unwrapped } from './geo-turns.ts'

export type GeoCondition =
  | { readonly kind: 'geoWithin'; readonly region: Region }
  | { readonly kind: 'geoIntersects'; readonly shape: Shape }
  | NearCondition

export interface NearCondition {
  readonly kind: 'near'
  readonly center: Position
  readonly isSphere: boolean
  /** In radians on the sphere, in the units of the coordinates otherwise. */
  readonly min: number
  readonly max: number
}

export type Region =
  | { readonly kind: 'shape'; readonly shape: Shape }
  | { readonly kind: 'circle'; readonly center: Position; readonly radius: number; readonly isSphere: boolean }

export const geoOperators: ReadonlySet<string> = new Set([
  '$geoWithin',
  '$within',
  '$geoIntersects',
  '$near',
  '$nearSphere',
  '$geoNear',
])

export function isGeoOperator(name: string): boolean {
  return geoOperators.has(name)
}

/** Parses a document whose first field is a geographic operator. */
export function parseGeo(operators: BsonDocument, allowsNear: boolean): GeoCondition {
  const [name, operand] = operators.fields[0]!
  if (name === '$geoWithin' || name === '$within') return { kind: 'geoWithin', region: regionOf(name, operand) }
  if (name === '$geoIntersects') return { kind: 'geoIntersects', shape: geometryIn(name, operand) }
  if (!allowsNear) throw badValue('$geoNear, $near, and $nearSphere are not allowed in this context')
  return nearOf(name, operand, operators)
}

function geometryIn(name: string, operand: Value): Shape {
  const geometry = operand.type === bsonType.document ? operand.get('$geometry') : undefined
  if (geometry === undefined) throw badValue(`${name} requires $geometry, given ${printElement(name, operand)}`)
  return shapeOf(geometry) ?? refuse(geometry)
}

function refuse(geometry: Value): never {
  throw badValue(`unknown GeoJSON type: ${printValue(geometry)}`)
}

function regionOf(name: string, operand: Value): Region {
  if (operand.type !== bsonType.document)
    throw badValue(`${name} requires an object, given ${printElement(name, operand)}`)
  const [operator, value] = operand.fields[0] ?? []
  switch (operator) {
    case '$geometry': {
      const shape = geometryIn(name, operand)
      if (shape.polygons.length === 0)
        throw badValue(`$geoWithin not supported with provided geometry: ${printValue(operand)}`)
      return { kind: 'shape', shape }
    }
    case '$box': {
      const [[left, bottom], [right, top]] = positionsIn(value!, 2) as [Position, Position]
      return polygonOf([
        [left, bottom],
        [right, bottom],
        [right, top],
        [left, top],
      ])
    }
    case '$polygon':
      return polygonOf(positionsIn(value!, 3))
    case '$center':
    case '$centerSphere': {
      const [center, radius] = value?.type === bsonType.array ? value.elements : []
      const position = center === undefined ? undefined : positionOf(center)
      if (position === undefined || !isNumeric(radius)) throw badValue(`${operator} requires a center and a radius`)
      return { kind: 'circle', center: position, radius: toDouble(radius), isSphere: operator === '$centerSphere' }
    }
    default:
      throw badValue(`unknown geo specifier: ${operator === undefined ? '{}' : printElement(operator, value!)}`)
  }
}

function polygonOf(corners: readonly Position[]): Region {
  return { kind: 'shape', shape: { points: [], lines: [], polygons: [[[...corners, corners[0]!]]] } }
}

function positionsIn(value: Value, least: number): Position[] {
  const positions = partsOf(value).map(positionOf)
  if (positions.length < least || positions.some(position => position === undefined)) {
    throw badValue(`Point must be an array or object, instead got ${printValue(value)}`)
  }
  return positions as Position[]
}

function partsOf(value: Value): readonly Value[] {
  if (value.type === bsonType.array) return value.elements
  return value.type === bsonType.document ? value.fields.map(([, part]) => part) : []
}

/** `[x, y]`, or a document whose first two fields are numbers. */
function positionOf(value: Value): Position | undefined {
  const [x, y] = partsOf(value)
  return isNumeric(x) && isNumeric(y) ? [toDouble(x), toDouble(y)] : undefined
}

/**
 * Either the operand is the point, and the distances stand beside the operator; or the operand is a document
 * that holds the point and the distances.
 */
function nearOf(name: string, operand: Value, operators: BsonDocument): NearCondition {
  if (operand.type !== bsonType.document && operand.type !== bsonType.array) {
    throw badValue(operators.fields.length > 1 ? extraField(operators) : 'geo near query argument is not an object')
  }
  const point = queryPoint(operand)
  if (point !== undefined) return nearPoint(name, point, besides(operators))
  if (operators.fields.length > 1) throw badValue(extraField(operators))
  return nearPoint(name, ...geometryAndDistances(operand))
}

interface QueryPoint {
  readonly center: Position
  readonly isGeoJson: boolean
  readonly max?: number
}

interface Distances {
  readonly min?: number | undefined
  readonly max?: number | undefined
}

function nearPoint(name: string, { center, isGeoJson, max: ownMax }: QueryPoint, { min, max }: Distances) {
  const unit = isGeoJson ? earthRadius : 1
  return {
    kind: 'near',
    center,
    isSphere: isGeoJson || name === '$nearSphere',
    min: (min ?? 0) / unit,
    max: (max ?? ownMax ?? Number.POSITIVE_INFINITY) / unit,
  } as const
}

/** A GeoJSON point, `[x, y]`, a document of two numbers, or `[x, y, maxDistance]`. */
function queryPoint(value: BsonDocument | BsonArray): QueryPoint | undefined {
  if (value.type === bsonType.document && value.get('type') !== undefined) {
    const center = shapeOf(value)?.points[0]
    return center === undefined ? undefined : { center, isGeoJson: true }
  }
  const center = positionOf(value)
  if (center === undefined) return undefined
  const third = partsOf(value)[2]
  if (!isNumeric(third)) return { center, isGeoJson: false }
  if (!(toDouble(third) >= 0)) throw badValue('max distance must be non-negative')
  return { center, isGeoJson: false, max: toDouble(third) }
}

/** The distances beside the operator. */
function besides(operators: BsonDocument): Distances {
  const found: { min?: number; max?: number } = {}
  for (const [name, value] of operators.fields.slice(1)) {
    if (name === '$minDistance') found.min = distanceOf(name, value)
    else if (name === '$maxDistance') found.max = distanceOf(name, value)
    else if (name !== '$uniqueDocs') throw new MongoError(34413, `invalid argument in geo near query: ${name}`)
  }
  return found
}

function geometryAndDistances(operand: BsonDocument | BsonArray): [QueryPoint, Distances] {
  const fields = operand.type === bsonType.document ? operand.fields : []
  const found: { min?: number; max?: number } = {}
  let point: QueryPoint | undefined
  for (const [name, value] of fields) {
    if (name === '$minDistance') found.min = distanceOf(name, value)
    else if (name === '$maxDistance') found.max = distanceOf(name, value)
    else if (name !== '$geometry') throw badValue(`invalid argument in geo near query: ${name}`)
    else if (value.type === bsonType.document || value.type === bsonType.array) {
      point = queryPoint(value)
      const problem = 'invalid point in geo near query $geometry argument:'
      if (point === undefined) throw badValue(`${problem} ${printValue(value)}`)
      if (!point.isGeoJson) throw new MongoError(16681, `$near requires geojson point, given ${printValue(value)}`)
    }
  }
  if (point === undefined) throw badValue('$geometry is required for geo near query')
  return [point, found]
}

function extraField(operators: BsonDocument): string {
  const [name, value] = operators.fields[1]!
  const problem = 'geo near accepts just one argument when querying for a GeoJSON point. Extra field found:'
  return `${problem} ${printElement(name, value)}`
}

function distanceOf(name: string, value: Value): number {
  if (!isNumeric(value)) throw badValue(`${name} must be a number`)
  const distance = toDouble(value)
  if (!(distance >= 0)) throw badValue(`${name} must be non-negative`)
  return distance
}

/** The shape that a value means: GeoJSON or a legacy pair of coordinates. */
export function shapeOf(value: Value): Shape | undefined {
  if (value.type === bsonType.document && value.get('type') !== undefined) {
    const reading = readShape(plain(value))
    return 'shape' in reading ? unwrapped(reading.shape) : undefined
  }
  const position = positionOf(value)
  return position === undefined ? undefined : { points: [position], lines: [], polygons: [] }
}

/** Converts a value to the plain JSON that GeoJSON parsing needs. Recurses as deep as documents nest. */
function plain(value: Value): unknown {
  if (isNumeric(value)) return toDouble(value)
  if (value.type === bsonType.string) return value.value
  if (value.type === bsonType.array) return value.elements.map(plain)
  if (value.type !== bsonType.document) return undefined
  const known = value.fields.filter(([name]) => name === 'type' || name === 'coordinates')
  return Object.fromEntries(known.map(([name, each]) => [name, plain(each)]))
}
