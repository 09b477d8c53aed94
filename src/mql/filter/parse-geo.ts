/**
 * Parses the geographic operators of filters.
 *
 *   { $geoWithin: { $geometry | $box | $polygon | $center | $centerSphere } }
 *   { $geoIntersects: { $geometry } }
 *   { $near | $nearSphere: { $geometry, $minDistance, $maxDistance } }   metres
 *   { $near: [x, y], $maxDistance }                                      units of the coordinates, in a plane
 *   { $nearSphere: [x, y], $maxDistance }                                radians
 *
 * Distances on the earth use MongoDB's earth radius.
 */

import { isNumeric, toDouble } from '../../document/bson/number.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import { type Position, readShape, type Shape } from '../../document/geometry.ts'
import { badValue } from '../errors/mongo-error.ts'
import { printElement, printValue } from '../errors/print.ts'
import { earthRadius } from './geo-distance.ts'

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

function nearOf(name: string, operand: Value, operators: BsonDocument): NearCondition {
  const geometry = operand.type === bsonType.document ? operand.get('$geometry') : undefined
  const isGeoJson = geometry !== undefined
  const options = isGeoJson ? (operand as BsonDocument) : operators
  const center = isGeoJson ? shapeOf(geometry)?.points[0] : positionOf(operand)
  if (center === undefined) throw badValue(`invalid point in geo near query $geometry argument: ${printValue(operand)}`)
  const unit = isGeoJson ? earthRadius : 1
  return {
    kind: 'near',
    center,
    isSphere: isGeoJson || name === '$nearSphere',
    min: distanceOf(options, '$minDistance', 0) / unit,
    max: distanceOf(options, '$maxDistance', Number.POSITIVE_INFINITY) / unit,
  }
}

function distanceOf(options: BsonDocument, name: string, otherwise: number): number {
  const value = options.get(name)
  if (value === undefined) return otherwise
  if (!isNumeric(value)) throw badValue(`${name} must be a number`)
  if (!(toDouble(value) >= 0)) throw badValue(`${name} must be non-negative`)
  return toDouble(value)
}

/** The shape that a value means: GeoJSON or a legacy pair of coordinates. */
export function shapeOf(value: Value): Shape | undefined {
  if (value.type === bsonType.document && value.get('type') !== undefined) {
    const reading = readShape(plain(value))
    return 'shape' in reading ? reading.shape : undefined
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
