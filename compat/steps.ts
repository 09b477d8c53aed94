/** The steps of the two stories, in their order. Each is a row of docs/compatibility.md. */

const nosqlSteps = {
  database: 'create a database, list databases',
  'container-ttl': 'create a container with a default time to live',
  partitions: 'create a container with several physical partitions',
  create: 'create an item',
  read: 'read an item',
  replace: 'replace an item',
  upsert: 'upsert an item',
  delete: 'delete an item',
  'by-object': 'name an item by the object that was read',
  'read-many': 'read many items by id',
  'item-ttl': 'item with its own time to live',
  etag: 'condition on the etag (412)',
  'unique-key': 'unique key conflict (409)',
  patch: 'patch',
  batch: 'transactional batch, done and undone',
  bulk: 'bulk',
  'query-partition': 'query in one partition',
  'query-parameters': 'query with parameters',
  'query-across': 'query over several partitions',
  'order-by': 'ORDER BY over several partitions',
  aggregates: 'aggregate over several partitions',
  'group-by': 'GROUP BY over several partitions',
  paging: 'continuation tokens over several partitions',
  'paging-order-by': 'continuation tokens with ORDER BY in one partition',
  'paging-order-by-across': 'continuation tokens with ORDER BY over several partitions',
  'change-feed': 'change feed from the beginning, and resumed',
  'change-feed-across': 'change feed over several partitions',
  'change-feed-processor': 'change feed processor',
  'change-feed-processor-metadata': 'change feed processor with metadata',
  throughput: 'read and replace throughput',
  'stored-procedure': 'stored procedure',
  trigger: 'trigger',
  'user-defined-function': 'user-defined function',
  users: 'users and permissions',
  'resource-token': 'resource token',
  'expiry-read': 'expired item is gone from reads',
  'expiry-query': 'expired item is gone from queries',
  'expiry-feed': 'expired item is gone from the change feed',
  'binary-json': 'Cosmos binary JSON',
  http2: 'HTTP/2',
  https: 'https with the certificate trusted',
  'delete-database': 'delete the database',
} as const

const mongoSteps = {
  connect: 'connect, list databases',
  insert: 'insert documents',
  find: 'find with filter, sort and projection',
  cursor: 'read by batches',
  collation: 'collation: letters without their case',
  update: 'update with operators',
  upsert: 'upsert',
  replace: 'replace a document',
  'find-and-modify': 'find and change in one call',
  delete: 'delete documents',
  'unique-index': 'unique index conflict (11000)',
  bulk: 'bulk write',
  aggregate: 'aggregate: $match, $group, $sort',
  lookup: 'aggregate: $lookup',
  'ttl-index': 'TTL index on _ts',
  'expiry-find': 'expired document is gone from finds',
  'expiry-count': 'expired document is gone from counts and pipelines',
  session: 'causally consistent session',
  transaction: 'transaction, committed',
  'transaction-abort': 'transaction, aborted',
  'change-stream': 'change stream, and resumed',
  'change-stream-expiry': 'change stream tells of an expired document',
  users: 'user with a role, refused what it may not (13)',
  gridfs: 'GridFS',
  tls: 'TLS with the certificate trusted',
  drop: 'drop the database',
} as const

export const stories = { nosql: nosqlSteps, mongo: mongoSteps } as const

export type Api = keyof typeof stories

/** What each step of a story is called on the page. */
export function stepsOf(api: Api): Readonly<Record<string, string>> {
  return stories[api]
}

/** Either the step works, or it fails, or the client has no call for it. */
export type Outcome = { readonly ok: true } | { readonly ok: false; readonly why: string } | { readonly absent: string }

/** One line that a program of compat/<language> prints. */
export type ReportLine = { readonly step: string } & Outcome
