/** What a file is, by its name: "JSON Lines, gzip". The server looks at its first bytes as well. */

export type FileFormat = 'jsonl' | 'json' | 'csv'

const formats: Readonly<Record<string, FileFormat>> = {
  jsonl: 'jsonl',
  ndjson: 'jsonl',
  json: 'json',
  csv: 'csv',
}

const packings: Readonly<Record<string, string>> = { gz: 'gzip', zst: 'zstd', zstd: 'zstd' }

export const formatName: Readonly<Record<FileFormat, string>> = { jsonl: 'JSON Lines', json: 'JSON', csv: 'CSV' }

export interface FileKind {
  format: FileFormat | undefined
  packing: string | undefined
  /** The name without its endings. */
  stem: string
}

export function fileKind(name: string): FileKind {
  const parts = name.split('.')
  const packing = parts.length > 1 ? packings[parts.at(-1)!.toLowerCase()] : undefined
  const rest = packing ? parts.slice(0, -1) : parts
  const format = rest.length > 1 ? formats[rest.at(-1)!.toLowerCase()] : undefined
  return { format, packing, stem: (format ? rest.slice(0, -1) : rest).join('.') }
}

/** Why a file cannot be imported, before a byte of it is sent. */
export function fileProblem({ name, size }: { name: string; size: number }): string | undefined {
  if (size === 0) return `${name} is empty.`
  const { format, packing } = fileKind(name)
  if (format === undefined && packing === undefined && /\.(zip|xlsx?|bson|parquet|pdf|png|jpe?g|tar|7z)$/i.test(name)) {
    return `${name} cannot be read. Use JSON Lines, a JSON array or CSV, as it is or with gzip or zstd.`
  }
  return undefined
}

/** The first lines of a text as they are, cut to what fits. */
export function firstLines(text: string, lines = 3, chars = 160): string[] {
  return text
    .split('\n')
    .filter(line => line.trim() !== '')
    .slice(0, lines)
    .map(line => (line.length > chars ? `${line.slice(0, chars - 1)}…` : line))
}
