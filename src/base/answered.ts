/** The facts about an answered request that an edge reports, for counters, the log and traces. */

export interface Answered {
  readonly protocol: 'nosql' | 'mongo'
  /**
   * One of a few fixed texts, such as `read docs`, `query docs`, `find`; never a text that a client chooses.
   */
  readonly operation: string
  /** The status of HTTP; the code of a Mongo error, or 0. */
  readonly status: number
  readonly chargeRu: number
  readonly ms: number
  /** The path or the namespace of the request. */
  readonly target: string
  readonly activityId?: string
  /** The client's `traceparent` header: the span that this request belongs to. */
  readonly traceParent?: string | undefined
}

export type OnAnswer = (answered: Answered) => void
