/** Tests of stored shapes, and their order by distance. */

import { keyOfValue } from '../../document/bson/ordered-key.ts'
import { bsonType } from '../../document/bson/types.ts'
import { double, valueAt } from '../../document/bson/value.ts'
import { intersects, isWithin, positionsOf, type Shape } from '../../document/geometry.ts'
import type { Sort } from '../paths/sort-order.ts'
import { documentTest, type ElementTest, pathTest } from '../paths/stored-path.ts'
import { distanceBetween, distanceTo } from './geo-distance.ts'
import { holdsInAnyTurn } from './geo-turns.ts'
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
      return shape => holdsInAnyTurn(shape, turned => intersects(turned, condition.shape))
    case 'near':
      return shape => {
        const distance = distanceTo(shape, condition.center, condition.isSphere)
        return distance >= condition.min && distance <= condition.max
      }
  }
}

function isInRegion(shape: Shape, region: Region): boolean {
  if (region.kind === 'shape') return holdsInAnyTurn(shape, turned => isWithin(turned, region.shape))
  const { center, radius, isSphere } = region
  return positionsOf(shape).every(position => distanceBetween(center, position, isSphere) <= radius)
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
        if (shape !== undefined) shortest = Math.min(shortest, distanceTo(shape, condition.center, condition.isSphere))
        return false
      }
      documentTest(pathTest(path, look, { entersLastArray: true }))(document, 0, undefined)
      return keyOfValue(double(shortest))
    },
  }
}
