/**
 * The vector embedding policy of a container and the vector indexes that depend on it.
 *
 * The texts are those that the SDKs' tests expect (azure-sdk-for-python, test_vector_policy). Where a test
 * knows only the beginning, the rest is INFERRED (not documented).
 */

import { RequestError } from '../../base/error.ts'
import {
  fieldOf,
  invalidInput,
  type JsonObject,
  malformed,
  readArray,
  readObject,
  readString,
  readWord,
  showValue,
} from './definition-input.ts'
import { indexPathsMax, isPropertyPath } from './policy-path.ts'

/** The service's limits for a vector index. A flat index takes only short vectors. */
const vectorDimensionsMax = 4096
const flatVectorDimensionsMax = 505
const quantizationBytesMax = 512
const indexingSearchListSizeMin = 25
const indexingSearchListSizeMax = 500
const vectorShardPathsMax = 1

export interface VectorEmbeddingPolicy {
  vectorEmbeddings: VectorEmbedding[]
}

export interface VectorEmbedding {
  path: string
  dataType: (typeof dataTypes)[number]
  dimensions: number
  distanceFunction: (typeof distanceFunctions)[number]
}

export interface VectorIndex {
  path: string
  type: (typeof indexTypes)[number]
  quantizerType?: (typeof quantizerTypes)[number]
  quantizationByteSize?: number
  indexingSearchListSize?: number
  vectorIndexShardKey?: string[]
}

const dataTypes = ['float32', 'float16', 'int8', 'uint8'] as const
const distanceFunctions = ['cosine', 'dotproduct', 'euclidean'] as const
const indexTypes = ['flat', 'quantizedFlat', 'diskANN'] as const
const quantizerTypes = ['product', 'spherical'] as const

export function parseVectorEmbeddingPolicy(input: unknown): VectorEmbeddingPolicy {
  const where = 'vectorEmbeddingPolicy.vectorEmbeddings'
  const list = fieldOf(readObject(input, 'vectorEmbeddingPolicy'), 'vectorEmbeddings') ?? []
  const seen = new Set<string>()
  const vectorEmbeddings = readArray(list, where, indexPathsMax).map((element, at) => {
    const entry = readObject(element, `${where}[${at}]`)
    const path = readString(fieldOf(entry, 'path'), `${where}[${at}].path`)
    if (!isPropertyPath(path)) {
      malformed(
        `The Vector Embedding Policy has an invalid Path:${path}. Specify the correct path for vector ` +
          'properties of your documents.',
      )
    }
    if (seen.has(path)) malformed(`The Vector Embedding Policy has duplicate Path:${path}.`) // INFERRED.
    seen.add(path)
    if (fieldOf(entry, 'embeddingSource') !== undefined) {
      // The service's text for features that an account does not have. Mayfly calls no embedding model.
      const text = "The input content is invalid - 'embeddingSource' is not a valid property in the current payload."
      throw new RequestError('unsupported', text)
    }
    return {
      path,
      dataType: pick(fieldOf(entry, 'dataType'), dataTypes, 'The Vector Embedding Policy has an invalid DataType:'),
      dimensions: readDimensions(fieldOf(entry, 'dimensions')),
      distanceFunction: pick(
        fieldOf(entry, 'distanceFunction'),
        distanceFunctions,
        'The Vector Embedding Policy has an invalid DistanceFunction:',
      ),
    }
  })
  return { vectorEmbeddings }
}

/** Words are compared without case: the SDKs write `dotproduct`, the query language `dotProduct`. */
function pick<Word extends string>(input: unknown, words: readonly Word[], complaint: string): Word {
  const text = typeof input === 'string' ? input : showValue(input)
  const word = words.find(candidate => candidate.toLowerCase() === text.toLowerCase())
  if (word === undefined) malformed(`${complaint}${text}.`)
  return word
}

function readDimensions(input: unknown): number {
  if (typeof input !== 'number' || !Number.isSafeInteger(input) || input < 1) {
    malformed(
      `The Vector Embedding Policy has Dimensions:${showValue(input)} which is invalid, it should be a positive ` +
        'integer.',
    )
  }
  if (input > vectorDimensionsMax) {
    malformed(
      `The Vector Embedding Policy has Dimensions:${input} which is more than the maximum supported value ` +
        `${vectorDimensionsMax}.`,
    )
  }
  return input
}

export function parseVectorIndexes(input: unknown): VectorIndex[] {
  const where = 'indexingPolicy.vectorIndexes'
  return readArray(input, where, indexPathsMax).map((element, at) => {
    const entry = readObject(element, `${where}[${at}]`)
    const index: VectorIndex = {
      path: readString(fieldOf(entry, 'path'), `${where}[${at}].path`),
      type: readIndexType(fieldOf(entry, 'type')),
    }
    const quantizerType = fieldOf(entry, 'quantizerType')
    if (quantizerType !== undefined) {
      index.quantizerType = readWord(quantizerType, `${where}[${at}].quantizerType`, quantizerTypes)
    }
    const byteSize = readCount(entry, 'quantizationByteSize', `${where}[${at}]`)
    if (byteSize !== undefined) index.quantizationByteSize = byteSize
    const searchListSize = readCount(entry, 'indexingSearchListSize', `${where}[${at}]`)
    if (searchListSize !== undefined) index.indexingSearchListSize = searchListSize
    const shardKey = fieldOf(entry, 'vectorIndexShardKey')
    if (shardKey !== undefined)
      index.vectorIndexShardKey = readShardKey(shardKey, `${where}[${at}].vectorIndexShardKey`)
    return index
  })
}

function readIndexType(input: unknown): VectorIndex['type'] {
  const text = typeof input === 'string' ? input : showValue(input)
  const type = indexTypes.find(candidate => candidate.toLowerCase() === text.toLowerCase())
  if (type === undefined) malformed(`The Vector Indexing Policy's Index Type::${text} is invalid.`)
  return type
}

function readCount(entry: JsonObject, name: string, where: string): number | undefined {
  const value = fieldOf(entry, name)
  if (value === undefined) return undefined
  if (typeof value !== 'number' || !Number.isSafeInteger(value)) invalidInput(`'${where}.${name}' must be an integer`)
  return value
}

function readShardKey(input: unknown, where: string): string[] {
  const paths = readArray(input, where, indexPathsMax).map(path => readString(path, where))
  if (paths.length > vectorShardPathsMax) {
    malformed(
      `The number of shard paths defined in the Vector Indexing Policy: ${paths.length} exceeds the maximum: ` +
        `${vectorShardPathsMax}.`,
    )
  }
  for (const path of paths) {
    if (!isPropertyPath(path)) malformed(`The Vector Indexing Policy has an invalid Shard Path: ${path}.`)
  }
  return paths
}

/** Checks that each index fits the vectors of its path. */
export function checkVectorIndexes(indexes: readonly VectorIndex[], policy: VectorEmbeddingPolicy | undefined): void {
  for (const index of indexes) {
    const embedding = policy?.vectorEmbeddings.find(({ path }) => path === index.path)
    if (embedding === undefined) {
      malformed(`The Vector Indexing Policy's path::${index.path} not matching in Embedding's path.`)
    }
    if (index.type === 'flat' && embedding.dimensions > flatVectorDimensionsMax) {
      // INFERRED text for a documented limit.
      malformed(
        `The Vector Indexing Policy's path::${index.path} has Dimensions:${embedding.dimensions} which is more ` +
          `than the maximum supported value ${flatVectorDimensionsMax} for the index type flat.`,
      )
    }
    checkRange('QuantizationByteSize', index.quantizationByteSize, {
      min: 1,
      max: Math.min(embedding.dimensions, quantizationBytesMax),
    })
    checkRange('IndexingSearchListSize', index.indexingSearchListSize, {
      min: indexingSearchListSizeMin,
      max: indexingSearchListSizeMax,
    })
  }
}

function checkRange(name: string, value: number | undefined, range: { min: number; max: number }): void {
  if (value === undefined || (value >= range.min && value <= range.max)) return
  malformed(
    `The Vector Indexing Policy parameter ${name} value :: ${value} is out of range. The allowed range is ` +
      `between ${range.min} and ${range.max}.`,
  )
}

/**
 * Stored vectors depend on their policy, so existing paths must not change. New paths may be added.
 *
 * INFERRED: an index may be left out, since the service's page says to change one by dropping and adding it.
 */
export function checkVectorReplacement(
  current: { policy: VectorEmbeddingPolicy | undefined; indexes: readonly VectorIndex[] },
  next: { policy: VectorEmbeddingPolicy | undefined; indexes: readonly VectorIndex[] },
): void {
  for (const embedding of current.policy?.vectorEmbeddings ?? []) {
    const replacement = next.policy?.vectorEmbeddings.find(({ path }) => path === embedding.path)
    if (JSON.stringify(replacement) !== JSON.stringify(embedding)) {
      malformed('Paths in existing embedding policy cannot be modified in Collection Replace')
    }
  }
  for (const index of current.indexes) {
    const replacement = next.indexes.find(({ path }) => path === index.path)
    if (replacement !== undefined && JSON.stringify(replacement) !== JSON.stringify(index)) {
      malformed('Paths in existing vector indexing policy cannot be modified in Collection Replace')
    }
  }
}
