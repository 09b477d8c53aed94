/**
 * Runs many writers and readers of one change feed, and finds changes that a reader missed, got twice or got
 * in the wrong order.
 *
 * Each key has one writer, which counts its versions. So it is known what readers must have seen in the end,
 * and an older version after a newer one is always a violation.
 */

export interface Change {
  readonly key: string
  readonly n: number
}

export interface Feed {
  /** Tries to write the version; true if it was written. */
  write(change: Change): Promise<boolean>
  read(after: string): Promise<{ changes: readonly Change[]; position: string; isEnd: boolean }>
}

export interface Violations {
  skipped: number
  repeated: number
  disordered: number
  delivered: number
}

export interface Crowd {
  readonly writers: number
  /** Of each writer, at least. */
  readonly writes: number
  readonly readers: number
  readonly start: string
  /** Writers and readers continue until this returns true. */
  readonly isEnough?: () => boolean
}

export async function checkFeed(
  feed: Feed,
  { writers, writes, readers, start, isEnough = () => true }: Crowd,
): Promise<Violations> {
  const latest = new Map<string, number>()
  let isOver = false
  const writing = Array.from({ length: writers }, async (_, writer) => {
    for (let n = 1; n <= writes || !isEnough(); n++) {
      // Half of the writes go to a few keys that change often.
      const key = n % 2 === 0 ? `hot ${writer}` : `new ${writer} ${n}`
      if (await feed.write({ key, n })) latest.set(key, n)
    }
  })
  const reading = Array.from({ length: readers }, async () => {
    const seen = new Map<string, number>()
    const violations: Violations = { skipped: 0, repeated: 0, disordered: 0, delivered: 0 }
    let position = start
    for (let isLast = false; ; ) {
      const { changes, position: next, isEnd } = await feed.read(position)
      for (const { key, n } of changes) {
        const before = seen.get(key) ?? 0
        if (n === before) violations.repeated++
        if (n < before) violations.disordered++
        seen.set(key, n)
        violations.delivered++
      }
      position = next
      if (isEnd && isLast) break
      isLast = isOver && isEnd
    }
    for (const [key, n] of latest) if (seen.get(key) !== n) violations.skipped++
    return violations
  })
  await Promise.all(writing)
  isOver = true
  const all = await Promise.all(reading)
  const sum = (name: keyof Violations) => all.reduce((total, each) => total + each[name], 0)
  return {
    skipped: sum('skipped'),
    repeated: sum('repeated'),
    disordered: sum('disordered'),
    delivered: sum('delivered'),
  }
}
