/** Tests of stored shapes, and their distances. */

import { keyOfValue } from '../../document/bson/ordered-key.ts'
import { bsonType } from '../../document/bson/types.ts'
import { double, valueAt } from '../../document/bson/value.ts'
import { edgesOf, intersects, isWithin, type Position, positionsOf, type Shape } from '../../document/geometry.ts'
import type { Sort } from '../paths/sort-order.ts'
import { documentTest, type ElementTest, pathTest } from '../paths/stored-path.ts'
import { type GeoCondition, type NearCondition, type Region, shapeOf } from './parse-geo.ts'

export function geoTest(condition: GeoCondition): ElementTest {
  const holds = shapeTest(condition)
  return (bytes, type, start) => {
    const shape = shapeAt(bytes, type, start)
    return shape !== undefined && holds(shape)
  }
}

function shapeAt(bytes: Uint8Array, type: number, start: number): Shape | undefined {
  if (type !== bsonType.document && type !== bsonType.array) return undefined
  return shapeOf(valueAt(bytes, type, start))
}

function shapeTest(condition: GeoCondition): (shape: Shape) => boolean {
  switch (condition.kind) {
    case 'geoWithin':
      return shape => isInRegion(shape, condition.region)
    case 'geoIntersects':
      return shape => intersects(shape, condition.shape)
    case 'near':
      return shape => {
        const distance = distanceTo(shape, condition)
        return distance >= condition.min && distance <= condition.max
      }
  }
}

function isInRegion(shape: Shape, region: Region): boolean {
  if (region.kind === 'shape') return isWithin(shape, region.shape)
  const { center, radius, isSphere } = region
  return positionsOf(shape).every(position => distanceBetween(center, position, isSphere) <= radius)
}

function distanceTo(shape: Shape, { center, isSphere }: NearCondition): number {
  if (intersects(shape, { points: [center], lines: [], polygons: [] })) return 0
  let shortest = Number.POSITIVE_INFINITY
  for (const position of positionsOf(shape)) shortest = Math.min(shortest, distanceBetween(center, position, isSphere))
  for (const edge of edgesOf(shape))
    shortest = Math.min(shortest, distanceBetween(center, nearest(center, edge), isSphere))
  return shortest
}

/** The point of an edge that is nearest to a position, on the plane tangent at that position. */
function nearest(position: Position, [from, to]: readonly [Position, Position]): Position {
  const shrink = Math.cos(radians(position[1]))
  const [dx, dy] = [(to[0] - from[0]) * shrink, to[1] - from[1]]
  const length = dx * dx + dy * dy
  const along = ((position[0] - from[0]) * shrink * dx + (position[1] - from[1]) * dy) / length
  const bounded = length === 0 ? 0 : Math.max(0, Math.min(1, along))
  return [from[0] + (to[0] - from[0]) * bounded, from[1] + (to[1] - from[1]) * bounded]
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180
}

/** Distance in radians on the sphere (haversine), or in the units of the plane. */
function distanceBetween(from: Position, to: Position, isSphere: boolean): number {
  if (!isSphere) return Math.hypot(to[0] - from[0], to[1] - from[1])
  const latitude = Math.sin(radians(to[1] - from[1]) / 2)
  const longitude = Math.sin(radians(to[0] - from[0]) / 2)
  const chord = latitude ** 2 + Math.cos(radians(from[1])) * Math.cos(radians(to[1])) * longitude ** 2
  return 2 * Math.asin(Math.min(1, Math.sqrt(chord)))
}

/** The sort order that `$near` asks for: nearest first. */
export function nearOrder(path: string, condition: NearCondition): Sort {
  return {
    components: [],
    isReversed: false,
    keyOf: document => {
      let shortest = Number.POSITIVE_INFINITY
      const look: ElementTest = (bytes, type, start) => {
        const shape = shapeAt(bytes, type, start)
        if (shape !== undefined) shortest = Math.min(shortest, distanceTo(shape, condition))
        return false
      }
      documentTest(pathTest(path, look, { entersLastArray: true }))(document, 0, undefined)
      return keyOfValue(double(shortest))
    },
  }
}
