/**
 * Resource ids (`_rid`): bytes in base64 with `-` for `/`. Each begins with the id of its owner.
 *
 *   database    4 bytes
 *   container   8 bytes: the database's, then 4 with the highest bit set
 *   item       16 bytes: the container's, then its sequence number, little endian (DOCUMENTID reads it)
 *   script     16 bytes: the same, with a marker of its kind in the last byte
 *   user        8 bytes: the database's, then 4 with the highest bit clear
 *   permission 16 bytes: the user's, then its sequence number
 *   offer       3 bytes
 *
 * Clients rely on the lengths: they drop a session token if the container's id is not 8 bytes.
 */

import type { ContainerRecord, DatabaseRecord } from '../../store/catalog.ts'
import type { StampForm } from '../../store/item.ts'

const scratch = Buffer.alloc(16)

function encode(length: number): string {
  const text = scratch.toString('base64', 0, length)
  return text.includes('/') ? text.replaceAll('/', '-') : text
}

export function databaseRid({ rid }: DatabaseRecord): string {
  scratch.writeUInt32BE(rid)
  return encode(4)
}

export function containerRid({ rid, database }: ContainerRecord): string {
  scratch.writeUInt32BE(database.rid)
  scratch.writeUInt32BE((rid | 0x80000000) >>> 0, 4)
  return encode(8)
}

export function itemRid(container: ContainerRecord, sequence: number): string {
  scratch.writeUInt32BE(container.database.rid)
  scratch.writeUInt32BE((container.rid | 0x80000000) >>> 0, 4)
  scratch.writeUInt32LE(sequence % 2 ** 32, 8)
  scratch.writeUInt32LE(Math.floor(sequence / 2 ** 32), 12)
  return encode(16)
}

/** The sequence number in the `_rid` of an item of this container; undefined if it is no such `_rid`. */
export function sequenceOfRid(container: ContainerRecord, rid: string): number | undefined {
  const bytes = Buffer.from(rid.replaceAll('-', '/'), 'base64')
  if (bytes.length !== 16) return undefined
  const sequence = bytes.readUInt32LE(8) + bytes.readUInt32LE(12) * 2 ** 32
  return Number.isSafeInteger(sequence) && itemRid(container, sequence) === rid ? sequence : undefined
}

/**
 * The form of an item's `_rid` as data, for stores that print it themselves. In base64, six bytes make eight
 * characters. So the first six bytes of the container's id are a fixed text, and its last two bytes are
 * encoded together with the sequence number.
 */
export function itemRidForm(container: ContainerRecord): StampForm {
  itemRid(container, 0)
  return { before: encode(6), number: { kind: 'base64', bytesBefore: scratch.toString('hex', 6, 8), slash: '-' } }
}

/** Like an item's, with a marker of its kind in the highest byte. */
export function scriptRid(container: ContainerRecord, sequence: number, mark: number): string {
  scratch.writeUInt32BE(container.database.rid)
  scratch.writeUInt32BE((container.rid | 0x80000000) >>> 0, 4)
  scratch.writeUIntLE(sequence, 8, 6)
  scratch.writeUInt16LE(mark << 8, 14)
  return encode(16)
}

/** Like a container's, with the highest bit clear. */
export function userRid({ rid }: DatabaseRecord, sequence: number): string {
  scratch.writeUInt32BE(rid)
  scratch.writeUInt32BE(sequence % 2 ** 31, 4)
  return encode(8)
}

export function permissionRid(user: string, sequence: number): string {
  Buffer.from(user.replaceAll('-', '/'), 'base64').copy(scratch)
  scratch.writeBigUInt64LE(BigInt(sequence), 8)
  return encode(16)
}

/** The `_rid` of the user whose permission has this `_rid`. */
export function userOfPermission(permission: string): string {
  Buffer.from(permission.replaceAll('-', '/'), 'base64').copy(scratch)
  return encode(8)
}

/** Databases and containers are numbered separately. The last bit says which of the two owns the offer. */
export function offerRid(owner: DatabaseRecord | ContainerRecord): string {
  scratch.writeUIntBE(owner.number * 2 + ('database' in owner ? 1 : 0), 0, 3)
  return encode(3)
}

/** `RRRRRRRR-0000-0000-0000-VVVVVVVVVVVV`: the incarnation of the container and the version within it. */
export function etagOf(rid: number, version: number): string {
  if (rid !== etagRid) {
    etagRid = rid
    etagStart = `${rid.toString(16).padStart(8, '0')}-0000-0000-0000-`
  }
  return etagStart + version.toString(16).padStart(12, '0')
}

/** Cached, because many items in a row belong to one container. */
let etagRid = -1
let etagStart = ''

export function etagForm(rid: number): StampForm {
  return { before: etagOf(rid, 0).slice(0, -12), number: etagNumber }
}

const etagNumber = { kind: 'hexadecimal', digitsMin: 12 } as const

/** Matches everything that looks like the `_rid` or the etag of an item of the container. */
export function itemNames(container: ContainerRecord): RegExp {
  const ridStart = itemRid(container, 0).slice(0, 10).replaceAll('+', '\\+')
  return new RegExp(`${ridStart}[\\w+-]{12}==|${etagForm(container.rid).before}[\\da-f]{12}`, 'g')
}

/** A version that no item ever has. */
const neverVersion = -1

/**
 * The version that an `If-Match` names: undefined for any, `neverVersion` if the etag is of another
 * container.
 */
export function versionOfEtag(header: string, rid: number): number | undefined {
  if (header === '*') return undefined
  const etag = header.startsWith('"') && header.endsWith('"') ? header.slice(1, -1) : header
  const version = Number.parseInt(etag.slice(-12), 16)
  return Number.isNaN(version) || etagOf(rid, version) !== etag ? neverVersion : version
}
