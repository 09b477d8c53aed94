/**
 * Computed properties: a name and the query that gives its value.
 *
 * Names are checked here, with the service's texts (azure-cosmos-dotnet-v3,
 * ContainerNegativeComputedPropertyTest). The query itself is not checked here.
 */

import { fieldOf, invalidInputText, isJsonObject, malformed } from './definition-input.ts'
import { scanPolicyPath } from './policy-path.ts'
import type { SpatialIndex } from './spatial-index.ts'

const computedPropertiesMax = 20

export interface ComputedProperty {
  name: string
  query: string
}

const systemNames: ReadonlySet<string> = new Set(['id', '_rid', '_self', '_etag', '_ts', '_attachments'])

export function parseComputedProperties(input: unknown, spatialIndexes: readonly SpatialIndex[]): ComputedProperty[] {
  // Here the service adds no details to its texts, and an SDK's test compares them up to the closing quote.
  if (!Array.isArray(input)) malformed(invalidInputText)
  if (input.length > computedPropertiesMax) {
    // INFERRED: the service documents the limit, but not this text.
    malformed(`The number of computed properties ${input.length} exceeds the maximum of ${computedPropertiesMax}.`)
  }
  const spatialNames = new Set(spatialIndexes.map(({ path }) => topLevelName(path)))
  const seen = new Set<string>()
  return input.map((element: unknown, at) => {
    const { name, query } = readComputedProperty(element)
    if (name === '') malformed("Computed property 'name' is either empty or unspecified.")
    if (query === '') malformed("Computed property 'query' is either empty or unspecified.")
    if (systemNames.has(name))
      malformed(`The system property name '${name}' cannot be used as a computed property name.`)
    if (seen.has(name)) malformed(`Computed property name '${name}' cannot be used in multiple definitions.`)
    if (spatialNames.has(name)) {
      malformed(
        `Computed property '${name}' at index (${at}) has a spatial index. Remove the spatial index on this path.`,
      )
    }
    seen.add(name)
    return { name, query }
  })
}

function readComputedProperty(element: unknown): ComputedProperty {
  if (!isJsonObject(element)) malformed(invalidInputText)
  const name = fieldOf(element, 'name')
  const query = fieldOf(element, 'query')
  if (typeof name !== 'string' || typeof query !== 'string') malformed(invalidInputText)
  return { name, query }
}

/** The top-level property of an index path, if it begins with one. */
function topLevelName(path: string): string | undefined {
  const parsed = scanPolicyPath(path)
  const first = typeof parsed === 'number' ? undefined : parsed.steps[0]
  return typeof first === 'string' ? first : undefined
}
