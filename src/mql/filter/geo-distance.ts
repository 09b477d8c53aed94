/** Distances as MongoDB measures them: on a sphere in radians, on a plane in the units of the coordinates. */

import { edgesOf, intersects, type Position, positionsOf, type Shape } from '../../document/geometry.ts'
import { turnsOf } from './geo-turns.ts'

/** MongoDB's earth radius in metres. */
export const earthRadius = 6_378_100

/** From a position to the nearest point of a shape; zero inside of it. */
export function distanceTo(shape: Shape, from: Position, isSphere: boolean): number {
  const [point] = shape.points
  if (point !== undefined && shape.points.length === 1) return distanceBetween(from, point, isSphere)
  const places = isSphere ? turnsOf(from) : [from]
  if (places.some(place => intersects(shape, { points: [place], lines: [], polygons: [] }))) return 0
  const onEdges = places.flatMap(place => edgesOf(shape).map(edge => nearestOn(edge, place)))
  const candidates = [...positionsOf(shape), ...onEdges]
  return candidates.reduce(
    (least, each) => Math.min(least, distanceBetween(from, each, isSphere)),
    Number.POSITIVE_INFINITY,
  )
}

/** On the sphere by the haversine formula. */
export function distanceBetween(from: Position, to: Position, isSphere: boolean): number {
  if (!isSphere) return Math.hypot(to[0] - from[0], to[1] - from[1])
  const [latitude, otherLatitude] = [radians(from[1]), radians(to[1])]
  const north = Math.sin((otherLatitude - latitude) / 2)
  const east = Math.sin((radians(to[0]) - radians(from[0])) / 2)
  const chord = north * north + east * east * Math.cos(latitude) * Math.cos(otherLatitude)
  return 2 * Math.asin(Math.min(1, Math.sqrt(chord)))
}

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180
}

/** The point of an edge that is nearest to a position, on the plane tangent at that position. */
function nearestOn([from, to]: readonly [Position, Position], position: Position): Position {
  const shrink = Math.cos(radians(position[1]))
  const [dx, dy] = [(to[0] - from[0]) * shrink, to[1] - from[1]]
  const length = dx * dx + dy * dy
  const along = length === 0 ? 0 : ((position[0] - from[0]) * shrink * dx + (position[1] - from[1]) * dy) / length
  const share = Math.max(0, Math.min(1, along))
  return [from[0] + (to[0] - from[0]) * share, from[1] + (to[1] - from[1]) * share]
}
