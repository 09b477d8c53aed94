/**
 * The indexing policy of a container: checked, and completed as the service completes it.
 *
 * The root path must be in one of the two lists, so that every path is decided; a policy without lists gets
 * `/*` included. `_etag` is always excluded. Lazy mode no longer exists: the service turns it into
 * consistent.
 */

import {
  fieldOf,
  invalidInput,
  malformed,
  readArray,
  readObject,
  readString,
  readWord,
  showValue,
} from './definition-input.ts'
import { type FullTextIndex, parseFullTextIndexes } from './full-text-policy.ts'
import { canonicalPath, indexPathsMax, parseIndexPolicyPath, refuseIndexPath, scanPolicyPath } from './policy-path.ts'
import { parseSpatialIndexes, type SpatialIndex } from './spatial-index.ts'
import { parseVectorIndexes, type VectorIndex } from './vector-policy.ts'

const compositeIndexesMax = 100
const compositeIndexPathsMax = 8

export interface IndexingPolicy {
  indexingMode: 'consistent' | 'none'
  automatic: boolean
  includedPaths: { path: string }[]
  excludedPaths: { path: string }[]
  compositeIndexes?: CompositeIndexPath[][]
  spatialIndexes?: SpatialIndex[]
  vectorIndexes?: VectorIndex[]
  fullTextIndexes?: FullTextIndex[]
}

export interface CompositeIndexPath {
  path: string
  order: 'ascending' | 'descending'
}

const etagPath = '/"_etag"/?'
const rootPath = '/*'

export function parseIndexingPolicy(input: unknown): IndexingPolicy {
  const policy = input === undefined ? {} : readObject(input, 'indexingPolicy')

  const modeInput = fieldOf(policy, 'indexingMode') ?? 'consistent'
  const mode = readWord(modeInput, 'indexingPolicy.indexingMode', ['consistent', 'lazy', 'none'])
  const indexingMode = mode === 'none' ? 'none' : 'consistent'

  // INFERRED: the service accepts {"indexingMode":"none"} alone (its page on managing policies), and
  // documents that indexing is then not automatic.
  const automatic = fieldOf(policy, 'automatic') ?? indexingMode !== 'none'
  if (typeof automatic !== 'boolean') invalidInput("'indexingPolicy.automatic' must be a boolean")

  const completed: IndexingPolicy = {
    indexingMode,
    automatic,
    ...completePaths(fieldOf(policy, 'includedPaths'), fieldOf(policy, 'excludedPaths'), indexingMode),
  }
  const compositeIndexes = fieldOf(policy, 'compositeIndexes')
  if (compositeIndexes !== undefined) completed.compositeIndexes = parseCompositeIndexes(compositeIndexes)
  const spatialIndexes = fieldOf(policy, 'spatialIndexes')
  if (spatialIndexes !== undefined) completed.spatialIndexes = parseSpatialIndexes(spatialIndexes)
  const vectorIndexes = fieldOf(policy, 'vectorIndexes')
  if (vectorIndexes !== undefined) completed.vectorIndexes = parseVectorIndexes(vectorIndexes)
  const fullTextIndexes = fieldOf(policy, 'fullTextIndexes')
  if (fullTextIndexes !== undefined) completed.fullTextIndexes = parseFullTextIndexes(fullTextIndexes)
  return completed
}

type PathLists = Pick<IndexingPolicy, 'includedPaths' | 'excludedPaths'>

function completePaths(includedInput: unknown, excludedInput: unknown, mode: 'consistent' | 'none'): PathLists {
  const included = readPaths(includedInput, 'indexingPolicy.includedPaths')
  const excluded = readPaths(excludedInput, 'indexingPolicy.excludedPaths')
  const isDefault = includedInput === undefined && excludedInput === undefined
  if (isDefault && mode !== 'none') included.set('/*', rootPath)

  for (const [canonical, path] of included) {
    // INFERRED. Of two matching paths the more precise one wins; equal paths would leave it undecided.
    if (excluded.has(canonical)) {
      malformed(`The indexing path '${path}' is specified both in 'includedPaths' and in 'excludedPaths'.`)
    }
  }
  if (mode !== 'none') {
    if (!included.has('/*') && !excluded.has('/*')) {
      malformed(
        'The special mandatory indexing path "/" is not provided in any of the path type sets. Please provide ' +
          'this path in one of the sets.',
      )
    }
    const etag = canonicalPath(parseIndexPolicyPath(etagPath))
    if (!included.has(etag) && !excluded.has(etag)) excluded.set(etag, etagPath)
  }
  return { includedPaths: toEntries(included), excludedPaths: toEntries(excluded) }
}

/**
 * Paths by their canonical spelling. `indexes` beside a path (the old kind, data type and precision) is
 * dropped, as in the service: every index is now a range index of full precision.
 */
function readPaths(input: unknown, where: string): Map<string, string> {
  const paths = new Map<string, string>()
  if (input === undefined) return paths
  for (const [at, element] of readArray(input, where, indexPathsMax).entries()) {
    const entry = readObject(element, `${where}[${at}]`)
    const written = readString(fieldOf(entry, 'path'), `${where}[${at}].path`)
    // The old spelling of the root. Some clients still send it (azure-sdk-for-python,
    // test_collection_indexing_policy).
    const path = written === '/' ? rootPath : written
    paths.set(canonicalPath(parseIndexPolicyPath(path)), path)
  }
  return paths
}

function toEntries(paths: ReadonlyMap<string, string>): { path: string }[] {
  return [...paths.values()].map(path => ({ path }))
}

function parseCompositeIndexes(input: unknown): CompositeIndexPath[][] {
  const where = 'indexingPolicy.compositeIndexes'
  return readArray(input, where, compositeIndexesMax).map((index, at) => {
    const paths = readArray(index, `${where}[${at}]`, compositeIndexPathsMax)
    if (paths.length < 2) {
      malformed(
        `The composite index at 'indexingPolicy.additionalIndexes.composite[${at}]' must have at least 2 paths.`,
      )
    }
    const seen = new Set<string>()
    return paths.map((element, pathAt) => {
      const entry = readObject(element, `${where}[${at}][${pathAt}]`)
      const path = readString(fieldOf(entry, 'path'), `${where}[${at}][${pathAt}].path`)
      // A composite path always ends in a scalar; `/?` and `/*` are not allowed (index-policy page).
      const parsed = scanPolicyPath(path)
      if (typeof parsed === 'number') refuseIndexPath(path, parsed)
      if (parsed.end !== '') refuseIndexPath(path, path.length - 1)
      const canonical = canonicalPath(parsed)
      if (seen.has(canonical)) {
        malformed(
          `The following path '${path}' was specified more than once in ` +
            `'additionalIndexes.composite[${at}][${pathAt}]'. Remove the duplicated field.`,
        )
      }
      seen.add(canonical)
      return { path, order: readOrder(fieldOf(entry, 'order')) }
    })
  })
}

function readOrder(input: unknown): 'ascending' | 'descending' {
  if (input === undefined || input === 'ascending') return 'ascending'
  if (input === 'descending') return 'descending'
  malformed(
    `The composite order '${typeof input === 'string' ? input : showValue(input)}' is invalid. Choose between ` +
      `'ascending' and 'descending'.`,
  )
}
