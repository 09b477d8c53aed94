/**
 * GeoJSON values and the geometry for the spatial functions and operators of both query languages.
 *
 * Positions are longitude and latitude in degrees. Containment and crossing are decided on the plane of
 * degrees, where GeoJSON draws its edges. Shapes that cross the antimeridian are not split. Distances and
 * areas are computed by the query languages.
 */

import { spend } from '../base/work.ts'

export type Position = readonly [longitude: number, latitude: number]
export type Ring = readonly Position[]

/** Every shape as points, open lines and polygons (outer ring first, then holes). */
export interface Shape {
  readonly points: readonly Position[]
  readonly lines: readonly Ring[]
  readonly polygons: readonly (readonly Ring[])[]
}

export type ShapeReading = { readonly shape: Shape } | { readonly reason: string }

const none: Shape = { points: [], lines: [], polygons: [] }

class InvalidShape extends Error {}

const readers: Readonly<Record<string, (coordinates: unknown) => Shape>> = {
  Point: coordinates => ({ ...none, points: [readPosition(coordinates)] }),
  MultiPoint: coordinates => ({ ...none, points: readList(coordinates, readPosition) }),
  LineString: coordinates => ({ ...none, lines: [readLine(coordinates)] }),
  MultiLineString: coordinates => ({ ...none, lines: readList(coordinates, readLine) }),
  Polygon: coordinates => ({ ...none, polygons: [readPolygon(coordinates)] }),
  MultiPolygon: coordinates => ({ ...none, polygons: readList(coordinates, readPolygon) }),
}

export function readShape(value: unknown): ShapeReading {
  const type = ownProperty(value, 'type')
  if (typeof type !== 'string') return { reason: 'The input is not a GeoJSON object.' }
  const reader = Object.hasOwn(readers, type) ? readers[type] : undefined
  if (reader === undefined) return { reason: `The type '${type}' is not a supported GeoJSON type.` }
  try {
    return { shape: reader(ownProperty(value, 'coordinates')) }
  } catch (error) {
    if (error instanceof InvalidShape) return { reason: error.message }
    throw error
  }
}

function ownProperty(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined
  return Object.hasOwn(value, name) ? (value as Record<string, unknown>)[name] : undefined
}

function readList<T>(value: unknown, read: (element: unknown) => T): readonly T[] {
  if (!Array.isArray(value) || value.length === 0) throw new InvalidShape('The coordinates must be a non-empty array.')
  spend(value.length)
  return value.map(read)
}

function readPosition(value: unknown): Position {
  const isPair = Array.isArray(value) && value.length >= 2 && value.slice(0, 2).every(part => typeof part === 'number')
  if (!isPair) throw new InvalidShape('A position must be an array of two numbers: longitude and latitude.')
  const [longitude, latitude] = value as unknown as readonly [number, number]
  if (Math.abs(latitude) > 90) throw new InvalidShape('Latitude values must be between -90 and 90 degrees.')
  if (Math.abs(longitude) > 180) throw new InvalidShape('Longitude values must be between -180 and 180 degrees.')
  return [longitude, latitude]
}

function readLine(value: unknown): Ring {
  const line = readList(value, readPosition)
  if (line.length < 2) throw new InvalidShape('A LineString must have at least two positions.')
  return line
}

function readPolygon(value: unknown): readonly Ring[] {
  const rings = readList(value, element => readList(element, readPosition))
  for (const [index, ring] of rings.entries()) {
    if (ring.length < 4) {
      throw new InvalidShape(
        `The Polygon input is not valid because the ring number ${index + 1} has fewer than 4 positions.`,
      )
    }
    const [first, last] = [ring[0] as Position, ring.at(-1) as Position]
    if (first[0] !== last[0] || first[1] !== last[1]) {
      throw new InvalidShape(
        `The Polygon input is not valid because the start and end points of the ring number ${index + 1} are not the ` +
          'same. Each ring of a polygon must have the same start and end points.',
      )
    }
  }
  return rings
}

export function edgesOf(shape: Shape): readonly (readonly [Position, Position])[] {
  return [...shape.lines, ...shape.polygons.flat()].flatMap(line => {
    spend(2 * line.length)
    return line.slice(1).map((position, index) => [line[index] as Position, position] as const)
  })
}

export function positionsOf(shape: Shape): readonly Position[] {
  return [...shape.points, ...shape.lines.flat(), ...shape.polygons.flat(2)]
}

function cross(origin: Position, a: Position, b: Position): number {
  return (a[0] - origin[0]) * (b[1] - origin[1]) - (a[1] - origin[1]) * (b[0] - origin[0])
}

function isOnEdge(position: Position, [from, to]: readonly [Position, Position]): boolean {
  return (
    cross(from, to, position) === 0 &&
    position[0] >= Math.min(from[0], to[0]) &&
    position[0] <= Math.max(from[0], to[0]) &&
    position[1] >= Math.min(from[1], to[1]) &&
    position[1] <= Math.max(from[1], to[1])
  )
}

/** Whether two edges cross in a point that is not an end of either. */
function edgesCross([a, b]: readonly [Position, Position], [c, d]: readonly [Position, Position]): boolean {
  return cross(a, b, c) * cross(a, b, d) < 0 && cross(c, d, a) * cross(c, d, b) < 0
}

/** Inside a polygon or on its border: a ray to the east meets the rings an odd number of times. */
function isInPolygon(position: Position, rings: readonly Ring[]): boolean {
  const [x, y] = position
  let isInside = false
  for (const ring of rings) {
    for (let index = 1; index < ring.length; index += 1) {
      spend(1)
      const [from, to] = [ring[index - 1] as Position, ring[index] as Position]
      if (isOnEdge(position, [from, to])) return true
      const isBetween = from[1] > y !== to[1] > y
      if (isBetween && x < ((to[0] - from[0]) * (y - from[1])) / (to[1] - from[1]) + from[0]) isInside = !isInside
    }
  }
  return isInside
}

function isInside(position: Position, shape: Shape): boolean {
  return shape.polygons.some(polygon => isInPolygon(position, polygon))
}

function touches(position: Position, shape: Shape): boolean {
  return (
    isInside(position, shape) ||
    edgesOf(shape).some(edge => isOnEdge(position, edge)) ||
    shape.points.some(point => point[0] === position[0] && point[1] === position[1])
  )
}

function anyEdgesCross(left: Shape, right: Shape): boolean {
  const others = edgesOf(right)
  return edgesOf(left).some(edge => {
    return others.some(other => {
      spend(1)
      return edgesCross(edge, other)
    })
  })
}

export function intersects(left: Shape, right: Shape): boolean {
  return (
    positionsOf(left).some(position => touches(position, right)) ||
    positionsOf(right).some(position => touches(position, left)) ||
    anyEdgesCross(left, right)
  )
}

export function isWithin(inner: Shape, outer: Shape): boolean {
  return positionsOf(inner).every(position => isInside(position, outer)) && !anyEdgesCross(inner, outer)
}
