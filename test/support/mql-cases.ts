/**
 * The test cases of find: every `.json` file in `test/languages/mql` has a few documents, and the results of
 * filters, sorts and projections over them, in extended JSON. The cases do not depend on how they are run, so
 * a driver can run them as well.
 */

import { readdirSync, readFileSync } from 'node:fs'
import { BsonArray, type BsonDocument } from '../../src/document/bson/value.ts'
import { encodeDocument } from '../../src/document/bson/writer.ts'
import { documentOf } from './extended-json.ts'

export interface FindCase {
  /** The case itself as a short text. */
  readonly name: string
  readonly filter: BsonDocument
  readonly sort: BsonDocument | undefined
  readonly projection: BsonDocument | undefined
  readonly skip: number | undefined
  readonly limit: number | undefined
  /** The `_id`s of the documents found; in this order if there is a sort. */
  readonly finds: readonly number[] | undefined
  readonly isOrdered: boolean
  /** The resulting documents, to the last byte. */
  readonly gives: readonly Uint8Array[] | undefined
  readonly error: { readonly code: number; readonly message?: string } | undefined
}

export interface FindCases {
  readonly file: string
  readonly documents: readonly Uint8Array[]
  readonly cases: readonly FindCase[]
}

const folder = new URL('../languages/mql/', import.meta.url)

export function readFindCases(): readonly FindCases[] {
  const files = readdirSync(folder).filter(name => name.endsWith('.json'))
  return files.sort().map(file => {
    const { documents, cases } = JSON.parse(readFileSync(new URL(file, folder), 'utf8'))
    return { file, documents: encodeAll(documents), cases: cases.map(findCase) }
  })
}

// biome-ignore lint/suspicious/noExplicitAny: the data are ours, and a wrong shape makes a test fail.
function findCase(json: any): FindCase {
  const { filter, sort, projection, skip, limit, finds, gives, error } = json
  return {
    name: JSON.stringify({ filter, sort, projection, skip, limit }).slice(0, 200),
    filter: documentOf(filter),
    sort: sort && documentOf(sort),
    projection: projection && documentOf(projection),
    skip,
    limit,
    finds,
    isOrdered: sort !== undefined || json.isOrdered === true,
    gives: gives && encodeAll(gives),
    error,
  }
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
function encodeAll(documents: readonly any[]): Uint8Array[] {
  return documents.map(each => encodeDocument(documentOf(each)))
}

/** The names of all operators in a document, at any depth. */
export function operatorsIn(document: BsonDocument): string[] {
  return document.fields.flatMap(([name, value]) => {
    const parts = value instanceof BsonArray ? value.elements : [value]
    const inner = parts.flatMap(part => ('fields' in part ? operatorsIn(part) : []))
    return name.startsWith('$') ? [name, ...inner] : inner
  })
}
