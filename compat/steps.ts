/** The steps of the story, in their order. Each is a row of docs/compatibility.md. */

export const steps = {
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

export type Step = keyof typeof steps

/** Either the step works, or it fails, or the client has no call for it. */
export type Outcome = { readonly ok: true } | { readonly ok: false; readonly why: string } | { readonly absent: string }

/** One line that a program of compat/<language> prints. */
export type ReportLine = { readonly step: Step } & Outcome
