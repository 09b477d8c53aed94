/** Tells the format and the compression of an input by its first bytes and its name. */

import type { Compression, InputFormat } from './input.ts'
import { InputError } from './input.ts'
import { isSpace } from './split-lines.ts'

/** Enough for the first line of nearly every input. */
export const headBytes = 64 * 1024

const utf8Mark = Buffer.from([0xef, 0xbb, 0xbf])

export function compressionOf(head: Buffer): Compression {
  if (head[0] === 0x1f && head[1] === 0x8b) return 'gzip'
  if (head.length >= 4 && head.readUInt32LE(0) === 0xfd2fb528) return 'zstd'
  return 'none'
}

/** The compression that the name of an output asks for. */
export function compressionNamed(name: string): Compression {
  if (/\.gz$/i.test(name)) return 'gzip'
  return /\.zstd?$/i.test(name) ? 'zstd' : 'none'
}

/** The format that a name asks for, if it does. */
export function formatNamed(name: string): InputFormat | undefined {
  const extension = /\.([^./\\]+)$/.exec(name.replace(/\.(gz|zstd?)$/i, ''))?.[1]?.toLowerCase()
  if (extension === 'csv' || extension === 'tsv') return 'csv'
  if (extension === 'jsonl' || extension === 'ndjson') return 'jsonl'
  return extension === 'json' ? 'json' : undefined
}

/** How many bytes of a byte order mark there are. Refuses other encodings than UTF-8. */
export function markBytes(head: Buffer): number {
  const [first, second] = head
  const isWide = (first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)
  const hasNuls = head.length >= 2 && (first === 0) !== (second === 0) && head.includes(0)
  if (isWide || hasNuls) throw new InputError('The input is UTF-16 or UTF-32. Save it as UTF-8.', { line: 1 })
  return head.subarray(0, 3).equals(utf8Mark) ? 3 : 0
}

/** `head` is decompressed and has no byte order mark. Undefined: the format is not known. */
export function formatOf(head: Buffer, name: string): InputFormat | undefined {
  const named = formatNamed(name)
  let at = 0
  while (at < head.length && isSpace(head[at]!)) at++
  const first = head[at]
  if (first === undefined) return named ?? 'jsonl'
  if (named === 'csv') return named
  if (first === 0x5b) return 'json'
  if (first === 0x7b) return named === 'jsonl' || beginsWithWholeLine(head.subarray(at)) ? 'jsonl' : 'json'
  if (named !== undefined) return named
  const [line = ''] = head.toString('utf8', at).split('\n', 1)
  return /^[^{}[\]]*[,;\t][^{}[\]]*$/.test(line) ? 'csv' : undefined
}

/** Whether an object ends in its first line, as in JSON Lines. */
function beginsWithWholeLine(head: Buffer): boolean {
  const end = head.indexOf(0x0a)
  // The first line is longer than the head. A printed object with line breaks has shorter lines, so this is
  // JSON Lines.
  if (end === -1) return true
  return /[}\]"\w]\s*$/.test(head.toString('utf8', 0, end)) && !/^\{\s*$/.test(head.toString('utf8', 0, end))
}
