/**
 * Rows on their way to a server: for each its line, its refusal if it has one, and its bytes.
 *
 *   line: 4 bytes   refusal: 4 bytes of length, UTF-8   row: 4 bytes of length, UTF-8     (big endian)
 *
 * A row that was refused already is sent without its bytes: the server counts it.
 */

import { RequestError } from '../base/error.ts'
import type { InputRow } from './input.ts'

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

export function decodeRows(frames: Buffer): InputRow[] {
  const rows: InputRow[] = []
  for (let at = 0; at < frames.length; ) {
    if (at + headBytes > frames.length) refuseFrames()
    const line = frames.readUInt32BE(at)
    const refusalBytes = frames.readUInt32BE(at + 4)
    const rowBytes = frames.readUInt32BE(at + 8)
    const start = at + headBytes + refusalBytes
    if (start + rowBytes > frames.length) refuseFrames()
    const refusal = refusalBytes === 0 ? undefined : frames.toString('utf8', at + headBytes, start)
    const row = { line, bytes: frames.subarray(start, start + rowBytes), end: 0, endLine: line }
    rows.push(refusal === undefined ? row : { ...row, refusal })
    at = start + rowBytes
  }
  return rows
}

function refuseFrames(): never {
  throw new RequestError('malformed', 'The body is no list of rows, as "mayfly import" sends it.')
}
