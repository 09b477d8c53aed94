/**
 * Finds acknowledged writes that were lost with a WAL: because it is damaged, cut short or deleted.
 *
 * SQLite reads a WAL up to the first frame whose checksum is wrong, and ignores the rest. A wrong frame
 * alone proves nothing: a crash may have cut off the last commit before it was acknowledged. But a commit is
 * synced before the next one begins. So if a whole commit follows the wrong frame, and another frame of the
 * same WAL follows that commit, then the commit was acknowledged.
 *
 * The mark beside the file (`end-mark.ts`) shows other losses, except those of the last second.
 *
 * Format: https://www.sqlite.org/fileformat2.html#the_write_ahead_log
 */

import { closeSync, existsSync, openSync, readSync } from 'node:fs'
import { endianness } from 'node:os'
import { join } from 'node:path'
import { RequestError } from '../../../base/error.ts'
import { isBehindMark } from './end-mark.ts'
import { dataFile } from './schema.ts'

const walHeaderBytes = 32
const frameHeaderBytes = 24
/** The lowest bit says in which byte order the checksums are. */
const magic = 0x377f0682

export function refuseLostWrites(directory: string): void {
  const wal = `${join(directory, dataFile)}-wal`
  const isDamaged = hasLostWrites(wal)
  if (!isDamaged && !isBehindMark(directory)) return
  const sentence = isDamaged
    ? `The write-ahead log ${wal} is damaged, and writes that were acknowledged are lost.`
    : `The files in ${directory} are older than its last use: writes that were acknowledged are lost.`
  const advice = 'Restore a backup, or keep a copy of the directory and start with --accept-lost-writes.'
  throw new RequestError('precondition_failed', `${sentence} ${advice}`)
}

function hasLostWrites(walFile: string): boolean {
  if (!existsSync(walFile)) return false
  const file = openSync(walFile, 'r')
  try {
    return findLoss(file)
  } finally {
    closeSync(file)
  }
}

function findLoss(file: number): boolean {
  const header = Buffer.alloc(walHeaderBytes)
  if (readSync(file, header, 0, walHeaderBytes, 0) < walHeaderBytes) return false
  const isBigEndian = (header.readUInt32BE(0) & 1) === 1
  const pageBytes = header.readUInt32BE(8)
  const isPageSize = pageBytes >= 512 && pageBytes <= 65_536 && Number.isInteger(Math.log2(pageBytes))
  const isMagic = (header.readUInt32BE(0) & ~1) >>> 0 === magic
  let sums = isMagic && isPageSize ? checksum(header.subarray(0, 24), [0, 0], isBigEndian) : undefined
  // The header is written before the first frame: if it is wrong, the frames behind it are lost.
  if (sums === undefined || !isSame(sums, header.readUInt32BE(24), header.readUInt32BE(28))) {
    return readSync(file, Buffer.alloc(1), 0, 1, walHeaderBytes) > 0
  }
  const frame = Buffer.alloc(frameHeaderBytes + pageBytes)
  let isBehindCommit = false
  for (let at = walHeaderBytes; readSync(file, frame, 0, frame.length, at) === frame.length; at += frame.length) {
    // Frames of an older WAL have other salts.
    const isOfThisWal = frame.compare(header, 16, 24, 8, 16) === 0
    if (sums !== undefined) {
      const next = checksum(
        frame.subarray(frameHeaderBytes),
        checksum(frame.subarray(0, 8), sums, isBigEndian),
        isBigEndian,
      )
      const isRight = isOfThisWal && isSame(next, frame.readUInt32BE(16), frame.readUInt32BE(20))
      sums = isRight ? next : undefined
      if (isRight) continue
    }
    if (!isOfThisWal) continue
    if (isBehindCommit) return true
    // A commit's last frame has the size of the database.
    isBehindCommit = frame.readUInt32BE(4) > 0
  }
  return false
}

type Sums = readonly [number, number]

function isSame([first, second]: Sums, a: number, b: number): boolean {
  return first === a && second === b
}

/** Reads words, not bytes, for speed: a WAL of 64 MB is checked at every start after a crash. */
function checksum(bytes: Buffer, [first, second]: Sums, isBigEndian: boolean): Sums {
  const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
  const isForeign = isBigEndian !== (endianness() === 'BE')
  let [a, b] = [first, second]
  for (let at = 0; at < words.length; at += 2) {
    a = (a + (isForeign ? swapped(words[at]!) : words[at]!) + b) >>> 0
    b = (b + (isForeign ? swapped(words[at + 1]!) : words[at + 1]!) + a) >>> 0
  }
  return [a, b]
}

function swapped(word: number): number {
  return ((word << 24) | ((word & 0xff00) << 8) | ((word >>> 8) & 0xff00) | (word >>> 24)) >>> 0
}
