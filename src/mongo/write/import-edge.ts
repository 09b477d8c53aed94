/** Makes documents of imported rows, which are extended JSON, and writes them as other writes do. */

import { isUtf8 } from 'node:buffer'
import { RequestError } from '../../base/error.ts'
import { ShortWork } from '../../base/short-work.ts'
import { parseExtendedDocument } from '../../document/bson/parse-extended-json.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Field, int32, type Value } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import type { ImportEdge, ImportItem } from '../../engine/import-writer.ts'
import { bsonIndexKeys } from '../../engine/index-keys.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { Step, TransactAnswer } from '../../store/writing.ts'
import { exportProperty, type KeepTtl, readNote, ttlToStore } from '../../transfer/keep-ttl.ts'
import { type Collection, collectionOf } from '../collections/collections.ts'
import { lifeOf } from '../collections/document-life.ts'
import { newDocument } from '../collections/new-document.ts'
import { invalidDocument } from '../collections/validation.ts'
import { ChangeTraces } from '../service/change-origins.ts'
import { constantsOf } from '../service/query-language.ts'
import type { MongoService } from '../service/service.ts'

export function importEdge(service: MongoService, container: ContainerRecord, keepTtl: KeepTtl): ImportEdge {
  const collection = collectionOf(container)
  return {
    container,
    takenText: 'There is a document with this _id already.',
    read: row => readRow(service, collection, row, keepTtl),
    transact: (steps, chargeRu) => transact(service, collection, steps, chargeRu),
  }
}

function readRow(service: MongoService, collection: Collection, row: Buffer, keepTtl: KeepTtl): ImportItem {
  if (!isUtf8(row)) throw new RequestError('malformed', 'The row is not UTF-8.')
  const given = parseExtendedDocument(row.toString('utf8'))
  const note = readNote(plain(given.get(exportProperty)))
  const fields = given.fields.filter(([name]) => name !== exportProperty)
  const { bytes, id } = newDocument(encodeDocument(fields))
  checkRules(service, collection, bytes)
  const key = collection.keyOf(id, bytes)
  const life = lifeOf(collection, bytes, service.settings)
  // Dates say when a document dies, whenever it is imported.
  const isByDates = collection.definition.deadlines === 'dates'
  if (keepTtl === 'reset' || isByDates) {
    const change = { draft: bytes, ...life }
    return { key, bytes: bytes.length, storedAt: () => change }
  }
  return {
    key,
    bytes: bytes.length,
    storedAt: moment => {
      const wanted = ttlToStore(keepTtl, { ttl: life.ttl, ts: undefined, note }, moment)
      if (wanted === 'dead') return undefined
      if (wanted === 'kept') return { draft: bytes, ...life }
      return { draft: withTtl(bytes, wanted), ttl: service.settings.isDocumentTtlOn ? wanted : undefined }
    },
  }
}

/** The note as JSON. It has only numbers and flags. */
function plain(value: Value | undefined): unknown {
  if (value?.type !== bsonType.document) return value
  const values = value.fields.map(([name, each]) => [name, 'value' in each ? jsonOf(each.value) : each])
  return Object.fromEntries(values)
}

function jsonOf(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}

function withTtl(document: Uint8Array, ttl: number): Uint8Array {
  const { fields } = BsonDocument.view(document)
  const set: Field = ['ttl', int32(ttl)]
  const hasTtl = fields.some(([name]) => name === 'ttl')
  return encodeDocument(hasTtl ? fields.map(field => (field[0] === 'ttl' ? set : field)) : [...fields, set])
}

function checkRules(service: MongoService, collection: Collection, document: Uint8Array): void {
  const { validation, compoundIndexes } = collection
  const constantsNow = () => constantsOf({ service }, collection.collation)
  const work = new ShortWork()
  const report = validation?.reportOn(document, undefined, (judged, validator) =>
    work.do('The validator of the collection', () =>
      validator.matches(judged, constantsNow) ? undefined : validator.report(judged, constantsNow),
    ),
  )
  if (report !== undefined && validation?.isOnlyWarning === false) throw invalidDocument(report)
  // An index key cannot contain two arrays.
  if (compoundIndexes.length > 0) bsonIndexKeys(compoundIndexes, document)
}

const replacement = { isReplacement: true }

/** Snapshots and change streams hear of the writes, and documents of running transactions are waited for. */
async function transact(
  service: MongoService,
  { container }: Collection,
  steps: readonly Step[],
  chargeRu: number,
): Promise<TransactAnswer> {
  const { engine, intents, past, origins } = service
  const own = (step: Step) => step.container.number === container.number
  if (!intents.isEmpty) {
    const keys = steps.filter(own).map(({ key }) => key)
    await intents.free(container.number, keys, () => new AbortController().signal)
  }
  const traces = new ChangeTraces(origins)
  const watched = past.begin()
  let answer: TransactAnswer | undefined
  try {
    const observed = steps.map((step): Step => {
      if (!own(step)) return step
      return {
        ...step,
        isBlind: step.isBlind === true && watched === undefined,
        decide: (found, moment) => {
          const change = step.decide(step.isBlind === true ? undefined : found, moment)
          if (change !== undefined) watched?.note(container.number, step.key, found)
          if (change?.kind === 'replace') {
            traces.note(container.number, { key: step.key, ts: moment, previous: found }, replacement)
          }
          return change
        },
      }
    })
    answer = await engine.transact(container, observed, chargeRu)
    return answer
  } finally {
    past.end(watched, answer?.refusal === undefined)
    if (answer?.refusal !== undefined) traces.forget()
  }
}
