/** The ST_ functions on GeoJSON values. An argument that is not valid GeoJSON gives undefined. */

import { spend } from '../../base/work.ts'
import { edgesOf, intersects, isWithin, positionsOf, readShape, type Shape } from '../../document/geometry.ts'
import type { SqlValue } from '../values/value.ts'
import { type BuiltIn, define, type FunctionFamily } from './define.ts'
import { distanceBetween, distanceToEdge, ringArea } from './earth.ts'

/** One takes half a microsecond, and up to 30 if the points are nearly opposite. */
const stepsPerDistance = 20

function onTwoShapes(compute: (left: Shape, right: Shape) => SqlValue): BuiltIn {
  return define(2, 2, ([left, right]) => {
    const [first, second] = [readShape(left), readShape(right)]
    return 'shape' in first && 'shape' in second ? compute(first.shape, second.shape) : undefined
  })
}

/** The minimum from every corner of one shape to every corner and edge of the other, both ways. */
function distance(left: Shape, right: Shape): number {
  if (intersects(left, right)) return 0
  return Math.min(cornersToShape(left, right), cornersToShape(right, left))
}

function cornersToShape(corners: Shape, shape: Shape): number {
  const edges = edgesOf(shape)
  let shortest = Number.POSITIVE_INFINITY
  for (const position of positionsOf(corners)) {
    for (const point of shape.points) {
      spend(stepsPerDistance)
      shortest = Math.min(shortest, distanceBetween(position, point))
    }
    for (const edge of edges) {
      spend(stepsPerDistance)
      shortest = Math.min(shortest, distanceToEdge(position, edge))
    }
  }
  return shortest
}

function area(shape: Shape): number {
  let total = 0
  for (const [outer, ...holes] of shape.polygons) {
    total += ringArea(outer!)
    for (const hole of holes) total -= ringArea(hole)
  }
  return total
}

export const spatialFunctions: FunctionFamily = {
  ST_AREA: define(1, 1, ([value]) => {
    const reading = readShape(value)
    return 'shape' in reading ? area(reading.shape) : undefined
  }),
  ST_DISTANCE: onTwoShapes(distance),
  ST_INTERSECTS: onTwoShapes(intersects),
  ST_ISVALID: define(1, 1, ([value]) => (value === undefined ? undefined : 'shape' in readShape(value))),
  ST_ISVALIDDETAILED: define(1, 1, ([value]) => {
    if (value === undefined) return undefined
    const reading = readShape(value)
    return 'shape' in reading ? { valid: true } : { valid: false, reason: reading.reason }
  }),
  ST_WITHIN: onTwoShapes(isWithin),
}
