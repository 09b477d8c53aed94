/** Distances and areas on the earth, in metres, on the WGS 84 ellipsoid. */

import type { Position, Ring } from '../../document/geometry.ts'

const equatorialRadius = 6_378_137
const flattening = 1 / 298.257223563
const polarRadius = equatorialRadius * (1 - flattening)
/** The radius of the sphere with the same area as the ellipsoid. */
const authalicRadius = 6_371_007.1809

function radians(degrees: number): number {
  return (degrees * Math.PI) / 180
}

/**
 * Vincenty's inverse formula. For nearly opposite points it does not converge, and the great circle is used.
 */
export function distanceBetween(from: Position, to: Position): number {
  const difference = radians(to[0] - from[0])
  const reduced = (latitude: number) => Math.atan((1 - flattening) * Math.tan(radians(latitude)))
  const [u1, u2] = [reduced(from[1]), reduced(to[1])]
  const [sinU1, cosU1, sinU2, cosU2] = [Math.sin(u1), Math.cos(u1), Math.sin(u2), Math.cos(u2)]
  let lambda = difference
  for (let round = 0; round < 100; round += 1) {
    const [sinLambda, cosLambda] = [Math.sin(lambda), Math.cos(lambda)]
    const sinSigma = Math.hypot(cosU2 * sinLambda, cosU1 * sinU2 - sinU1 * cosU2 * cosLambda)
    if (sinSigma === 0) return 0
    const cosSigma = sinU1 * sinU2 + cosU1 * cosU2 * cosLambda
    const sigma = Math.atan2(sinSigma, cosSigma)
    const sinAlpha = (cosU1 * cosU2 * sinLambda) / sinSigma
    const cosSquareAlpha = 1 - sinAlpha ** 2
    const cos2SigmaM = cosSquareAlpha === 0 ? 0 : cosSigma - (2 * sinU1 * sinU2) / cosSquareAlpha
    const c = (flattening / 16) * cosSquareAlpha * (4 + flattening * (4 - 3 * cosSquareAlpha))
    const correction = sigma + c * sinSigma * (cos2SigmaM + c * cosSigma * (2 * cos2SigmaM ** 2 - 1))
    const next = difference + (1 - c) * flattening * sinAlpha * correction
    if (Math.abs(next - lambda) < 1e-12) return arcLength({ sigma, sinSigma, cosSigma, cos2SigmaM, cosSquareAlpha })
    lambda = next
  }
  return greatCircle(from, to)
}

function arcLength(arc: {
  sigma: number
  sinSigma: number
  cosSigma: number
  cos2SigmaM: number
  cosSquareAlpha: number
}): number {
  const { sigma, sinSigma, cosSigma, cos2SigmaM, cosSquareAlpha } = arc
  const u = (cosSquareAlpha * (equatorialRadius ** 2 - polarRadius ** 2)) / polarRadius ** 2
  const a = 1 + (u / 16_384) * (4096 + u * (-768 + u * (320 - 175 * u)))
  const b = (u / 1024) * (256 + u * (-128 + u * (74 - 47 * u)))
  const inner =
    cosSigma * (2 * cos2SigmaM ** 2 - 1) - (b / 6) * cos2SigmaM * (4 * sinSigma ** 2 - 3) * (4 * cos2SigmaM ** 2 - 3)
  return polarRadius * a * (sigma - b * sinSigma * (cos2SigmaM + (b / 4) * inner))
}

function greatCircle(from: Position, to: Position): number {
  const halfLatitude = Math.sin(radians(to[1] - from[1]) / 2)
  const halfLongitude = Math.sin(radians(to[0] - from[0]) / 2)
  const chord = halfLatitude ** 2 + Math.cos(radians(from[1])) * Math.cos(radians(to[1])) * halfLongitude ** 2
  return 2 * authalicRadius * Math.asin(Math.min(1, Math.sqrt(chord)))
}

/** The distance to the nearest point of an edge. That point is found on a plane tangent at the position. */
export function distanceToEdge(position: Position, [from, to]: readonly [Position, Position]): number {
  const shrink = Math.cos(radians(position[1]))
  const toPlane = (other: Position): Position => [(other[0] - position[0]) * shrink, other[1] - position[1]]
  const [a, b] = [toPlane(from), toPlane(to)]
  const [dx, dy] = [b[0] - a[0], b[1] - a[1]]
  const length = dx * dx + dy * dy
  const along = length === 0 ? 0 : Math.min(1, Math.max(0, -(a[0] * dx + a[1] * dy) / length))
  return distanceBetween(position, [from[0] + (to[0] - from[0]) * along, from[1] + (to[1] - from[1]) * along])
}

/** The area inside a ring, in either orientation: the signed areas between its edges and the equator. */
export function ringArea(ring: Ring): number {
  let sum = 0
  for (let index = 1; index < ring.length; index += 1) {
    const [from, to] = [ring[index - 1] as Position, ring[index] as Position]
    sum += areaToEquator(radians(to[0] - from[0]), authalicSine(from[1]), authalicSine(to[1]))
  }
  return Math.abs(sum * authalicRadius ** 2)
}

/** On the unit sphere. An edge is a part of a great circle, or of a parallel if it goes halfway round. */
function areaToEquator(difference: number, sine1: number, sine2: number): number {
  if (Math.abs(difference) >= Math.PI) return (difference * (sine1 + sine2)) / 2
  const [half1, half2] = [Math.tan(Math.asin(sine1) / 2), Math.tan(Math.asin(sine2) / 2)]
  return 2 * Math.atan2(Math.tan(difference / 2) * (half1 + half2), 1 + half1 * half2)
}

const eccentricity = Math.sqrt(flattening * (2 - flattening))

/** The sine of the latitude on the sphere of equal area, where zones are as large as on the ellipsoid. */
function authalicSine(latitude: number): number {
  return zone(Math.sin(radians(latitude))) / zone(1)
}

function zone(sine: number): number {
  const es = eccentricity * sine
  return (1 - eccentricity ** 2) * (sine / (1 - es ** 2) + Math.atanh(es) / eccentricity)
}
