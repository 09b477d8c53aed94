/**
 * Documents for the Mongo side. All have the same size, so that the length of an answer shows whether it is
 * right.
 */

import { type Document, ObjectId, serialize } from 'bson'

export const DOCUMENT_BYTES = 860
/** The six fields that every size has, and padding. */
export const SMALL_DOCUMENT_BYTES = 200

const FIRST_SECOND = 1_700_000_000
const PER_SECOND = 1_000
const MACHINE = Buffer.from('6d6179666c', 'hex')

/** An ObjectId as drivers make it: seconds, five bytes of the process, a counter. It increases with `n`. */
export function documentId(n: number): ObjectId {
  const bytes = Buffer.alloc(12)
  writeDocumentId(bytes, 0, n)
  return new ObjectId(bytes)
}

function writeDocumentId(bytes: Buffer, at: number, n: number): void {
  bytes.writeUInt32BE(FIRST_SECOND + Math.floor(n / PER_SECOND), at)
  MACHINE.copy(bytes, at + 4)
  bytes.writeUIntBE(n % 2 ** 24, at + 9, 3)
}

function scattered(n: number, range: number): number {
  return (Math.imul(n + 1, 2_654_435_761) >>> 0) % range
}

function digits(value: number, length: number): string {
  return String(value).padStart(length, '0')
}

/** An order as a shop might keep it, in 15 fields. */
export function benchDocument(n: number): Document {
  const line = (k: number) => ({
    sku: `sku-${digits(scattered(n * 3 + k, 1_000), 4)}`,
    quantity: 1 + scattered(n * 3 + k, 20),
    price: 0.5 + scattered(n + k, 10_000) / 100,
  })
  return {
    ...benchDocumentStart(n, 0),
    isPaid: n % 2 === 0,
    quantity: scattered(n, 10_000),
    price: 0.5 + scattered(n, 100_000) / 100,
    currency: 'EUR',
    tags: ['alpha', 'beta', 'gamma'],
    lines: [line(0), line(1), line(2)],
    device: { os: 'linux', agent: 'Mozilla/5.0 (X11; Linux x86_64)', width: 2560, height: 1440 },
    address: {
      street: '12 Rue Cler',
      city: 'Paris',
      zip: digits(scattered(n, 100_000), 5),
      geo: { lat: 48.857, lon: 2.306, zone: scattered(n, 500) },
    },
  }
}

function benchDocumentStart(n: number, group: number): Document {
  return {
    _id: documentId(n),
    group,
    kind: 'order.placed',
    customer: `customer-${digits(scattered(n, 50_000), 6)}`,
    city: `city-${digits(scattered(n, 100), 4)}`,
    createdAt: new Date((FIRST_SECOND + n) * 1000),
  }
}

function padded(document: Document, bytes: number): Buffer {
  const room = bytes - serialize({ ...document, text: '' }).length
  if (room < 0) throw new Error(`A document of ${bytes} bytes is too small.`)
  return Buffer.from(serialize({ ...document, text: 'x'.repeat(room) }))
}

export function documentBytes(n: number): Buffer {
  return padded(benchDocument(n), DOCUMENT_BYTES)
}

/** Position of the value of `_id`, the first field, in a document. */
const ID_AT = 9

/** Makes many documents fast: copies one and overwrites `_id` and `group`. */
export class DocumentStamp {
  readonly #template: Buffer
  readonly #groupAt: number
  readonly #groupOf: (n: number) => number

  constructor(bytes: number, groupOf: (n: number) => number) {
    this.#template = padded(bytes === DOCUMENT_BYTES ? benchDocument(0) : benchDocumentStart(0, 0), bytes)
    this.#groupAt = this.#template.indexOf('group\0') + 'group\0'.length
    this.#groupOf = groupOf
  }

  /** A buffer for `count` documents, one after the other. */
  room(count: number): Buffer {
    return Buffer.concat(Array.from({ length: count }, () => this.#template))
  }

  /** Turns the bytes at `at` into document `n`. */
  write(bytes: Buffer, at: number, n: number): void {
    writeDocumentId(bytes, at + ID_AT, n)
    bytes.writeInt32LE(this.#groupOf(n), at + this.#groupAt)
  }
}
