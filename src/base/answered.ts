/** What an edge tells of each request that it has answered. */

export interface Answered {
  readonly protocol: 'nosql' | 'mongo'
  /** One of few: `read docs`, `query docs`, `find`. Never a text that a client chooses. */
  readonly operation: string
  /** The status of HTTP; the code of a Mongo error, or 0. */
  readonly status: number
  readonly chargeRu: number
  readonly ms: number
  /** What was asked for: the path, or the namespace. */
  readonly target: string
  readonly activityId?: string
  /** The client's `traceparent` header: the span that this request belongs to. */
  readonly traceParent?: string | undefined
}

export type OnAnswer = (answered: Answered) => void
