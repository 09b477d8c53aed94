/**
 * The two protocol edges as the explorer sees them. Edges do not import each other: the composition root
 * hands these over.
 */

import type { BsonDocument } from '../../document/bson/value.ts'
import type { IndexPath } from '../../document/index-definition.ts'
import type { PartitionKeyComponent } from '../../document/partition-key.ts'
import type { ExplainedQuery, QueriedPage, QueryPageRequest } from '../../engine/query.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey, StoredItem } from '../../store/item.ts'

export type ItemTest = (item: StoredItem) => boolean

export interface SqlQuery {
  readonly text: string
  readonly parameters?: unknown
  readonly partitionKey?: readonly PartitionKeyComponent[] | undefined
}

/** All rows of a query: SQL, or a filter or pipeline of a collection. */
export interface RowsQuery extends Omit<SqlQuery, 'parameters'> {
  /** With a filter, as extended JSON. */
  readonly sort?: string
  readonly projection?: string
}

export interface NosqlSide {
  /** Throws if this field of a container's definition is not valid, as the handlers would. */
  checkField(name: 'partitionKey' | 'uniqueKeyPolicy', value: unknown): Promise<void>
  ask(question: {
    readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
    readonly path: readonly string[]
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: string
    readonly gone?: AbortSignal
  }): Promise<{
    readonly status: number
    readonly body: string
    readonly chargeRu: number
    readonly headers: ReadonlyMap<string, string>
  }>
  query(
    container: ContainerRecord,
    query: SqlQuery,
    page: QueryPageRequest,
  ): Promise<QueriedPage & { readonly chargeRu: number }>
  plan(
    container: ContainerRecord,
    query: SqlQuery,
  ): Promise<{
    readonly plan: object
    readonly isCrossPartition: boolean
    readonly wish: IndexPath | undefined
    readonly explained: ExplainedQuery
  }>
  withFilter<T>(container: ContainerRecord, clause: string, use: (accepts: ItemTest) => Promise<T>): Promise<T>
}

export interface MongoSide {
  run(
    database: string,
    command: BsonDocument,
    signal?: AbortSignal,
  ): Promise<{ readonly answer: BsonDocument; readonly chargeRu: number }>
  filter(filter: BsonDocument): ItemTest
  describe(container: ContainerRecord): {
    readonly isView: boolean
    readonly shardKey: readonly string[]
    readonly hasDateDeadlines: boolean
    readonly indexes: readonly BsonDocument[]
  }
  /** The key of a document from its `_id` and shard key as extended JSON. */
  keyOf(container: ContainerRecord, id: string, shard: string | null): ItemKey
}

export interface MongoSwitches {
  isDocumentTtlOn: boolean
  areExpiryEventsOn: boolean
}
