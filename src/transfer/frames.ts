/**
 * The format in which `mayfly import` sends rows to a server: for each row its line, its refusal if it has
 * one, and its bytes.
 *
 *   line: 4 bytes   length of the refusal: 4 bytes   length of the row: 4 bytes     (big endian)
 *   refusal: UTF-8   row: UTF-8
 *
 * A row that was refused already is sent without its bytes: the server only counts it.
 */

import { RequestError } from '../base/error.ts'
import { type InputRow, rowBytesMax } from './input.ts'

const headBytes = 12

export function encodeRows(rows: readonly InputRow[]): Buffer {
  const refusals = rows.map(({ refusal }) => (refusal === undefined ? 0 : Buffer.byteLength(refusal)))
  const sizeOf = (row: InputRow) => (row.refusal === undefined ? row.bytes.length : 0)
  const total = rows.reduce((sum, row, index) => sum + headBytes + refusals[index]! + sizeOf(row), 0)
  const frames = Buffer.allocUnsafe(total)
  let at = 0
  for (const [index, row] of rows.entries()) {
    at = frames.writeUInt32BE(row.line, at)
    at = frames.writeUInt32BE(refusals[index]!, at)
    at = frames.writeUInt32BE(sizeOf(row), at)
    if (row.refusal !== undefined) at += frames.write(row.refusal, at)
    else at += row.bytes.copy(frames, at)
  }
  return frames
}

/** Reads such rows as they arrive, in pieces of any size. */
export class RowFrames {
  /** The part of an incomplete row that has arrived. */
  #pieces: Buffer[] = []
  #bytes = 0
  /** The number of bytes that is needed to continue. */
  #needed = headBytes

  /** Returns the rows that this piece completes. Their bytes may be a view of it. */
  add(piece: Buffer): InputRow[] {
    this.#pieces.push(piece)
    this.#bytes += piece.length
    if (this.#bytes < this.#needed) return []
    const bytes = this.#pieces.length === 1 ? piece : Buffer.concat(this.#pieces)
    const rows: InputRow[] = []
    let at = 0
    this.#needed = headBytes
    while (at + headBytes <= bytes.length) {
      const refusalBytes = bytes.readUInt32BE(at + 4)
      const rowBytes = bytes.readUInt32BE(at + 8)
      if (refusalBytes + rowBytes > rowBytesMax) refuseFrames()
      const start = at + headBytes + refusalBytes
      if (start + rowBytes > bytes.length) {
        this.#needed = start + rowBytes - at
        break
      }
      const line = bytes.readUInt32BE(at)
      const refusal = refusalBytes === 0 ? undefined : bytes.toString('utf8', at + headBytes, start)
      const row = { line, bytes: bytes.subarray(start, start + rowBytes), end: 0, endLine: line }
      rows.push(refusal === undefined ? row : { ...row, refusal })
      at = start + rowBytes
    }
    this.#pieces = at < bytes.length ? [bytes.subarray(at)] : []
    this.#bytes = bytes.length - at
    return rows
  }

  /** Refuses a list that breaks off within a row. */
  end(): void {
    if (this.#bytes > 0) refuseFrames()
  }
}

function refuseFrames(): never {
  throw new RequestError('malformed', 'The body is not a list of rows in the form that "mayfly import" sends.')
}
