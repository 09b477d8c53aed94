/**
 * Handles shapes that cross the antimeridian. Geometry is computed on the plane of degrees, where such a
 * shape continues beyond 180 degrees. So it is compared with the other shape three times: as it stands, and
 * moved by one turn (360 degrees) to the east and to the west.
 *
 * An edge goes the short way around the earth, as in MongoDB. A ring around a pole is closed over that pole.
 */

import type { Position, Ring, Shape } from '../../document/geometry.ts'

export function unwrapped(shape: Shape): Shape {
  if (!shape.lines.some(isWrapped) && !shape.polygons.some(rings => rings.some(isWrapped))) return shape
  return { ...shape, lines: shape.lines.map(unwrappedLine), polygons: shape.polygons.map(unwrappedPolygon) }
}

function isWrapped(line: Ring): boolean {
  return line.some(([longitude], index) => index > 0 && Math.abs(longitude - line[index - 1]![0]) > 180)
}

function unwrappedLine(line: Ring): Ring {
  let turns = 0
  return line.map(([longitude, latitude], index): Position => {
    const before = line[index - 1]?.[0]
    if (before !== undefined && Math.abs(longitude - before) > 180) turns += longitude < before ? 1 : -1
    return [longitude + 360 * turns, latitude]
  })
}

/** Holes are moved to the turn in which the outer ring begins. */
function unwrappedPolygon(rings: readonly Ring[]): readonly Ring[] {
  const [outer, ...holes] = rings.map(unwrappedLine)
  const [west, east] = [Math.min(...outer!.map(([x]) => x)), Math.max(...outer!.map(([x]) => x))]
  const moved = holes.map(hole => {
    const [first] = hole[0]!
    const turns = first < west ? 1 : first > east ? -1 : 0
    return movedRing(hole, turns)
  })
  return [overPole(outer!), ...moved]
}

function overPole(ring: Ring): Ring {
  const [first, last] = [ring[0]!, ring.at(-1)!]
  if (first[0] === last[0]) return ring
  const pole = ring.reduce((sum, [, latitude]) => sum + latitude, 0) < 0 ? -90 : 90
  return [...ring, [last[0], pole], [first[0], pole], first]
}

function movedRing(ring: Ring, turns: number): Ring {
  return turns === 0 ? ring : ring.map(([longitude, latitude]): Position => [longitude + 360 * turns, latitude])
}

function movedShape({ points, lines, polygons }: Shape, turns: number): Shape {
  return {
    points: movedRing(points, turns),
    lines: lines.map(line => movedRing(line, turns)),
    polygons: polygons.map(rings => rings.map(ring => movedRing(ring, turns))),
  }
}

/** Whether the test holds for the shape as it stands or one turn to the east or west. */
export function holdsInAnyTurn(shape: Shape, test: (turned: Shape) => boolean): boolean {
  return test(shape) || test(movedShape(shape, 1)) || test(movedShape(shape, -1))
}

/** The position as it stands, and one turn to the east and to the west. */
export function turnsOf([longitude, latitude]: Position): readonly Position[] {
  return [
    [longitude, latitude],
    [longitude + 360, latitude],
    [longitude - 360, latitude],
  ]
}
