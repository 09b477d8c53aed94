/** The full name of a collection. */

export interface Namespace {
  readonly database: string
  readonly collection: string
}
