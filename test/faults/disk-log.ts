/** The log of what reached the disk, as shim.c writes it. */

/** A write, a truncation, a sync, and a sync that failed. */
export interface Event {
  readonly kind: 'w' | 't' | 's' | 'f'
  readonly name: string
  readonly at: number
  readonly size: number
  readonly data: Buffer
}

/** By name. */
export type Files = Map<string, Buffer>

export function readLog(log: Buffer): Event[] {
  const events: Event[] = []
  for (let from = 0; from < log.length; ) {
    const kind = String.fromCharCode(log[from]!) as Event['kind']
    const nameEnd = from + 2 + log[from + 1]!
    const name = log.toString('utf8', from + 2, nameEnd)
    const at = Number(log.readBigUInt64LE(nameEnd))
    const size = Number(log.readBigUInt64LE(nameEnd + 8))
    const dataEnd = nameEnd + 16 + (kind === 'w' ? size : 0)
    events.push({ kind, name, at, size, data: log.subarray(nameEnd + 16, dataEnd) })
    from = dataEnd
  }
  return events
}

export function apply(files: Files, { kind, name, at, size, data }: Event): void {
  const file = files.get(name) ?? Buffer.alloc(0)
  if (kind === 't') files.set(name, sized(file, size))
  if (kind !== 'w') return
  const grown = file.length < at + data.length ? sized(file, at + data.length) : file
  data.copy(grown, at)
  files.set(name, grown)
}

function sized(file: Buffer, size: number): Buffer {
  return Buffer.concat([file.subarray(0, size), Buffer.alloc(Math.max(0, size - file.length))])
}

/**
 * What a disk has after a sync failed: the system has dropped what was to be synced, and a later sync
 * succeeds without it. undefined: no sync failed.
 */
export function withoutDropped(events: readonly Event[]): Files | undefined {
  if (!events.some(({ kind }) => kind === 'f')) return undefined
  const files: Files = new Map()
  for (const [index, event] of events.entries()) {
    const next = events.slice(index + 1).find(({ kind, name }) => name === event.name && (kind === 's' || kind === 'f'))
    if (next?.kind !== 'f') apply(files, event)
  }
  return files
}
