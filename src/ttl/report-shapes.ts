/** What the reports on expiry look like. Users of the library import these types. */

export interface TtlStatus {
  readonly defaultTtl: number | null
  readonly living: number
  readonly backlog: number
  readonly oldestDeadline: number | null
  readonly lagSeconds: number
}

/** The status of a container, with what the purger did. */
export interface ContainerStatus extends TtlStatus {
  readonly purged: number
  readonly paused: boolean
}

export interface Forecast {
  readonly buckets: readonly { start: number; end: number; inherited: number; own: number }[]
  readonly later: number
  readonly never: number
}

export interface Preview {
  readonly now: number
  readonly within1h: number
  readonly within24h: number
  readonly later: number
  readonly never: number
}

export interface Explanation {
  readonly state: 'alive' | 'dead' | 'unknown'
  readonly rule: 'off' | 'inherited' | 'own' | 'never' | 'final' | null
  readonly ts: number | null
  readonly defaultTtl: number | null
  readonly ttl: number | null
  readonly effectiveTtl: number | null
  readonly expiresAt: number | null
  readonly secondsLeft: number | null
  readonly explanation: string
}
