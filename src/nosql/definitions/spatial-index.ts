/** Spatial indexes, and how they must match the container's geospatial configuration. */

import { fieldOf, invalidInput, malformed, readArray, readObject, readString, readWord } from './definition-input.ts'
import { indexPathsMax, parseIndexPolicyPath } from './policy-path.ts'

export interface SpatialIndex {
  path: string
  types: SpatialType[]
  boundingBox?: BoundingBox
}

export interface BoundingBox {
  xmin: number
  ymin: number
  xmax: number
  ymax: number
}

export interface GeospatialConfig {
  type: 'Geography' | 'Geometry'
}

const spatialTypes = ['Point', 'LineString', 'Polygon', 'MultiPolygon'] as const
type SpatialType = (typeof spatialTypes)[number]

export function parseSpatialIndexes(input: unknown): SpatialIndex[] {
  const where = 'indexingPolicy.spatialIndexes'
  return readArray(input, where, indexPathsMax).map((element, at) => {
    const entry = readObject(element, `${where}[${at}]`)
    const path = readString(fieldOf(entry, 'path'), `${where}[${at}].path`)
    parseIndexPolicyPath(path)

    const types = readArray(fieldOf(entry, 'types') ?? [], `${where}[${at}].types`, spatialTypes.length)
    if (types.length === 0) {
      malformed(
        `The spatial data types array cannot be empty. Assign at least one spatial type for the 'types' array ` +
          `for the path '${path}'.`,
      )
    }
    for (const type of types) readWord(type, `${where}[${at}].types`, spatialTypes)

    // Whatever types are asked for, all four are returned, as in the service (azure-cosmos-dotnet-v3,
    // ContainerSettingsTests: "All SpatialTypes are returned").
    const index: SpatialIndex = { path, types: [...spatialTypes] }
    const boundingBox = fieldOf(entry, 'boundingBox')
    if (boundingBox !== undefined) index.boundingBox = parseBoundingBox(boundingBox, `${where}[${at}].boundingBox`)
    return index
  })
}

function parseBoundingBox(input: unknown, where: string): BoundingBox {
  const entry = readObject(input, where)
  const corner = (name: string): number => {
    const value = fieldOf(entry, name)
    if (typeof value !== 'number' || !Number.isFinite(value)) invalidInput(`'${where}.${name}' must be a number`)
    return value
  }
  const box = { xmin: corner('xmin'), ymin: corner('ymin'), xmax: corner('xmax'), ymax: corner('ymax') }
  // INFERRED: the service does not document this text.
  if (box.xmin >= box.xmax || box.ymin >= box.ymax) {
    malformed(
      `The boundingBox at '${where}' is invalid. Ensure that xmin is less than xmax and ymin is less than ymax.`,
    )
  }
  return box
}

export function parseGeospatialConfig(input: unknown): GeospatialConfig {
  if (input === undefined) return { type: 'Geography' }
  const type = fieldOf(readObject(input, 'geospatialConfig'), 'type') ?? 'Geography'
  return { type: readWord(type, 'geospatialConfig.type', ['Geography', 'Geometry']) }
}

/**
 * An index of a plane needs bounds; an index of the earth has none.
 *
 * INFERRED texts. The SDK's tests expect `boundingBox` and the type in them (azure-sdk-for-js,
 * spatialIndexBoundingBox).
 */
export function checkBoundingBoxes(indexes: readonly SpatialIndex[], geospatial: GeospatialConfig): void {
  for (const { path, boundingBox } of indexes) {
    if (geospatial.type === 'Geometry' && boundingBox === undefined) {
      malformed(`The spatial index path '${path}' must have a 'boundingBox' because the geospatial type is 'Geometry'.`)
    }
    if (geospatial.type === 'Geography' && boundingBox !== undefined) {
      malformed(
        `The spatial index path '${path}' cannot have a 'boundingBox' because the geospatial type is 'Geography'.`,
      )
    }
  }
}
