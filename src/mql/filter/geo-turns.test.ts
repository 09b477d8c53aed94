/** Tests of shapes across the antimeridian and around the poles. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { serialize } from 'bson'
import { BsonDocument } from '../../document/bson/value.ts'
import { compileFilter } from './match.ts'

type Coordinates = readonly unknown[]

function holds(operator: string, stored: object, geometry: object): boolean {
  const filter = BsonDocument.view(serialize({ p: { [operator]: { $geometry: geometry } } }))
  return compileFilter(filter).matches(serialize({ p: stored }))
}

const point = (...coordinates: number[]) => ({ type: 'Point', coordinates })
const line = (...coordinates: Coordinates) => ({ type: 'LineString', coordinates })
const polygon = (...coordinates: Coordinates) => ({ type: 'Polygon', coordinates })

// The Fiji islands: 20 degrees wide.
const acrossTheAntimeridian = polygon([
  [170, -10],
  [-170, -10],
  [-170, -25],
  [170, -25],
  [170, -10],
])

test('a polygon across the antimeridian holds the points on both of its sides and no others', () => {
  for (const operator of ['$geoIntersects', '$geoWithin']) {
    for (const inside of [point(175, -15), point(-175, -15), point(180, -15), point(-180, -15)]) {
      assert.equal(holds(operator, inside, acrossTheAntimeridian), true, `${operator} ${inside.coordinates}`)
    }
    for (const outside of [point(0, -15), point(165, -15), point(-165, -15), point(175, 15)]) {
      assert.equal(holds(operator, outside, acrossTheAntimeridian), false, `${operator} ${outside.coordinates}`)
    }
  }
})

test('a line goes the short way around the earth', () => {
  const short = line([170, 0], [-170, 0])
  assert.equal(holds('$geoIntersects', short, line([175, -5], [175, 5])), true)
  assert.equal(holds('$geoIntersects', short, line([-175, -5], [-175, 5])), true)
  assert.equal(holds('$geoIntersects', short, line([0, -5], [0, 5])), false)
  assert.equal(holds('$geoIntersects', line([-175, -5], [-175, 5]), short), true)
})

test('a hole on the other side of the antimeridian is a hole', () => {
  const { coordinates } = acrossTheAntimeridian
  const hole = [
    [-178, -14],
    [-172, -14],
    [-172, -18],
    [-178, -18],
    [-178, -14],
  ]
  const withHole = polygon(coordinates[0], hole)
  assert.equal(holds('$geoIntersects', point(-175, -15), withHole), false)
  assert.equal(holds('$geoIntersects', point(175, -15), withHole), true)
})

test('a ring around a pole holds the pole', () => {
  const ring = (latitude: number) =>
    polygon([
      [0, latitude],
      [90, latitude],
      [180, latitude],
      [-90, latitude],
      [0, latitude],
    ])
  assert.equal(holds('$geoIntersects', point(45, 85), ring(80)), true)
  assert.equal(holds('$geoIntersects', point(-135, 89), ring(80)), true)
  assert.equal(holds('$geoIntersects', point(45, 70), ring(80)), false)
  assert.equal(holds('$geoIntersects', point(-45, -85), ring(-80)), true)
})
