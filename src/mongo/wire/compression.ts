/** OP_COMPRESSED: a compressed message. An answer uses the compressor of its request. */

import { promisify } from 'node:util'
import * as zlib from 'node:zlib'
import { stepsInHeavyTurns } from '../../base/heavy-turns.ts'
import { giveUp, largeBuffer } from '../../base/large-buffer.ts'
import { KiB, MiB } from '../../base/limits.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { type Steps, withoutTurns } from '../../base/steps.ts'
import { FramingError, headerBytes } from './frame.ts'

/** Larger messages are compressed and decompressed on another thread. */
const mongoInlineCompressionBytesMax = 64 * KiB

/** The part of a message that is copied in one step, in up to a millisecond. */
const copiedBytesMax = MiB

export const opCompressed = 2012

type Work = (bytes: Uint8Array) => MaybePromise<Buffer>

export interface Compressor {
  readonly id: number
  readonly compress: Work
  /** Fails if the result is longer than `bytesMax`. */
  readonly decompress: (bytes: Uint8Array, bytesMax: number) => MaybePromise<Buffer>
}

const inflate = promisify<Uint8Array, zlib.ZlibOptions, Buffer>(zlib.inflate)
const deflate = promisify<Uint8Array, Buffer>(zlib.deflate)
const zstdCompress = promisify<Uint8Array, Buffer>(zlib.zstdCompress)
const zstdDecompress = promisify<Uint8Array, zlib.ZstdOptions, Buffer>(zlib.zstdDecompress)

const isLarge = (bytes: number) => bytes > mongoInlineCompressionBytesMax

/**
 * Makes zlib write into one buffer. Otherwise it makes small pieces and joins them: all bytes would be in
 * memory twice.
 */
const inOnePiece = (maxOutputLength: number) => ({ maxOutputLength, chunkSize: maxOutputLength })

const zlibCompressor: Compressor = {
  id: 2,
  compress: bytes => (isLarge(bytes.length) ? deflate(bytes) : zlib.deflateSync(bytes)),
  decompress: (bytes, maxOutputLength) =>
    isLarge(maxOutputLength)
      ? inflate(bytes, inOnePiece(maxOutputLength))
      : zlib.inflateSync(bytes, { maxOutputLength }),
}

const zstdCompressor: Compressor = {
  id: 3,
  compress: bytes => (isLarge(bytes.length) ? zstdCompress(bytes) : zlib.zstdCompressSync(bytes)),
  decompress: (bytes, maxOutputLength) =>
    isLarge(maxOutputLength)
      ? zstdDecompress(bytes, inOnePiece(maxOutputLength))
      : zlib.zstdDecompressSync(bytes, { maxOutputLength }),
}

/** By the names that `hello` uses, the preferred one first. */
export const compressors: Readonly<Record<string, Compressor>> = { zstd: zstdCompressor, zlib: zlibCompressor }

export interface Unpacked {
  /** The whole message, with its own header. */
  readonly message: Buffer
  readonly compressor: Compressor
}

/** What a compressed message says of its length. Throws if it says nothing, or too much. */
export function unpackedBytes(packed: Buffer, bytesMax: number): number {
  if (packed.length < headerBytes + 9) throw new FramingError('a compressed message without its header')
  const bytes = packed.readInt32LE(headerBytes + 4)
  if (bytes < 0 || bytes > bytesMax - headerBytes) {
    throw new FramingError(`a message of ${bytes} bytes when decompressed`)
  }
  return bytes
}

/** `by` identifies the connection: a large message is copied in turns. */
export function unpack(packed: Buffer, bytesMax: number, by: object): MaybePromise<Unpacked> {
  const uncompressedBytes = unpackedBytes(packed, bytesMax)
  const originalOpcode = packed.readInt32LE(headerBytes)
  const id = packed[headerBytes + 8]!
  const compressor = Object.values(compressors).find(candidate => candidate.id === id)
  if (compressor === undefined) throw new FramingError(`compressor ${id}`)
  if (originalOpcode === opCompressed) throw new FramingError('a compressed message within a compressed message')
  const refuse = (): never => {
    throw new FramingError('a compressed message that does not decompress to what it says')
  }
  const whole = (content: Buffer): Steps<Unpacked> => {
    if (content.length !== uncompressedBytes) refuse()
    return wholeInSteps(packed, content, { originalOpcode, compressor })
  }
  let content: MaybePromise<Buffer>
  try {
    // zlib takes a limit of zero as "no limit".
    content = compressor.decompress(packed.subarray(headerBytes + 9), Math.max(1, uncompressedBytes))
  } catch {
    return refuse()
  }
  return content instanceof Promise
    ? content.then(large => stepsInHeavyTurns(whole(large), by), refuse)
    : withoutTurns(whole(content))
}

/** Puts the header of the packed message in front of its content. */
function* wholeInSteps(
  packed: Buffer,
  content: Buffer,
  { originalOpcode, compressor }: { readonly originalOpcode: number; readonly compressor: Compressor },
): Steps<Unpacked> {
  const message = largeBuffer(headerBytes + content.length)
  packed.copy(message, 0, 0, headerBytes)
  message.writeInt32LE(message.length, 0)
  message.writeInt32LE(originalOpcode, 12)
  for (let at = 0; at < content.length; at += copiedBytesMax) {
    content.copy(message, headerBytes + at, at, at + copiedBytesMax)
    yield
  }
  giveUp(content)
  return { message, compressor }
}

export function pack(message: Buffer, compressor: Compressor): MaybePromise<Buffer> {
  return andThen(compressor.compress(message.subarray(headerBytes)), content => {
    const header = Buffer.allocUnsafe(headerBytes + 9)
    message.copy(header, 0, 0, headerBytes)
    header.writeInt32LE(header.length + content.length, 0)
    header.writeInt32LE(opCompressed, 12)
    header.writeInt32LE(message.readInt32LE(12), headerBytes)
    header.writeInt32LE(message.length - headerBytes, headerBytes + 4)
    header[headerBytes + 8] = compressor.id
    return Buffer.concat([header, content])
  })
}
