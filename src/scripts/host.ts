/**
 * What a script may ask of the database, and how the caller of a run must answer.
 *
 * A script calls `createDocument`, `queryDocuments` and so on; each accepted call arrives here as one
 * `HostCall`. The order of events in a run:
 *
 *   H1  Calls arrive one at a time, in the order in which the script made them. The next call arrives after
 *       the last one was answered.
 *   H2  Each answer goes to the script's callback before the run can end. A callback may make further calls.
 *   H3  The run ends when every call is answered: with an outcome, or with the error that the script threw.
 *   H4  When the run's promise settles, no call is under way, and none will come.
 *
 * So the caller of a run opens its transaction before the run and buffers the writes of the calls over one
 * view of one partition key (a later call sees the writes of an earlier one). It commits when the promise
 * fulfils and drops everything when it rejects.
 *
 * A refusal that concerns the script (404, 409, 412, 413 …) is an answer with an `error`: the script may
 * continue. A rejected promise means an internal failure: it ends the run and reaches the caller of the run
 * unchanged.
 */

/** By `_rid`, from a `_self` link, or by `id`, from a link made of names. */
export type DocumentReference = { readonly rid: string } | { readonly id: string }

interface Paged {
  /** From 1 to `pageItemsMax`. */
  readonly pageSize: number
  readonly continuation: string | undefined
}

interface Conditional {
  readonly etag: string | undefined
}

/** Bodies are JSON texts from the script. It is only checked that they are strings. */
export type HostCall =
  | { readonly kind: 'read'; readonly document: DocumentReference; readonly ifNoneMatch: string | undefined }
  | ({ readonly kind: 'readFeed' } & Paged)
  /** `spec` is the JSON text of `{"query": …, "parameters": […]}`, as in the body of a query request. */
  | ({ readonly kind: 'query'; readonly spec: string } & Paged)
  | { readonly kind: 'create'; readonly body: string }
  | ({ readonly kind: 'upsert'; readonly body: string } & Conditional)
  | ({ readonly kind: 'replace'; readonly document: DocumentReference; readonly body: string } & Conditional)
  /** `operations` is the JSON text of the list, or of the object with `operations` and `condition`. */
  | ({ readonly kind: 'patch'; readonly document: DocumentReference; readonly operations: string } & Conditional)
  | ({ readonly kind: 'delete'; readonly document: DocumentReference } & Conditional)

/** The last argument of callbacks. */
export interface ResponseOptions {
  readonly continuation?: string
  readonly notModified?: boolean
  readonly statusCode?: number
  readonly currentCollectionSizeInMB?: string
  readonly maxCollectionSizeInMB?: string
}

export interface HostSuccess {
  /** The JSON text of a document, or of a list of documents for `readFeed` and `query`. */
  readonly body?: string
  readonly options: ResponseOptions
}

/** A status of the protocol, and its text as the service sends it: `{"Errors":["Resource Not Found"]}`. */
export interface HostRefusal {
  readonly number: number
  readonly body: string
}

export type HostAnswer = ({ readonly ok: HostSuccess } | { readonly error: HostRefusal }) & {
  /** Whether the run's request units are used up. Further calls of the script are then not accepted. */
  readonly isBudgetSpent?: boolean
}

export interface ScriptHost {
  call(call: HostCall): Promise<HostAnswer>
}
