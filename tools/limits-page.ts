/** Writes the table of docs/limits.md from the constants in the sources. Run `npm run docs`. */

import { sourceTree } from '../test/support/source-tree.ts'
import { type GeneratedPage, write } from './generated-page.ts'

const sources = sourceTree('src/**/*.ts')

/** What the limit is about, the file of its constant below src, and the constant. Its name tells the unit. */
type Row = readonly [subject: string, file: string, constant: string]

const sections: Readonly<Record<string, readonly Row[]>> = {
  Items: [
    ['an item', 'base/limits.ts', 'itemBytesMax'],
    ['levels of JSON in an item', 'base/limits.ts', 'nestingDepthMax'],
    ['the id of an item', 'nosql/definitions/resource-name.ts', 'itemIdBytesMax'],
    ['a partition key', 'document/partition-key.ts', 'partitionKeyBytesMax'],
    ['levels of a hierarchical partition key', 'document/partition-key.ts', 'partitionKeyLevelsMax'],
    ['seconds of a time to live', 'ttl/lifespan.ts', 'ttlSecondsMax'],
    ['operations of a patch', 'nosql/items/patch.ts', 'patchOperationsMax'],
    ['operations of a batch', 'nosql/batch/batch-request.ts', 'batchOperationsMax'],
    ['operations of a batch, together', 'nosql/handlers/batch.ts', 'batchBytesMax'],
  ],
  Containers: [
    ['the name of a database, container, script or user', 'nosql/definitions/resource-name.ts', 'resourceIdCharsMax'],
    ['a definition', 'base/limits.ts', 'definitionBytesMax'],
    ['unique keys', 'nosql/definitions/unique-key-policy.ts', 'uniqueKeysMax'],
    ['paths of all unique keys', 'nosql/definitions/unique-key-policy.ts', 'uniqueKeyPathsMax'],
    ['paths of an indexing policy', 'nosql/definitions/policy-path.ts', 'indexPathsMax'],
    ['composite indexes', 'nosql/definitions/indexing-policy.ts', 'compositeIndexesMax'],
    ['paths of a composite index', 'nosql/definitions/indexing-policy.ts', 'compositeIndexPathsMax'],
    ['computed properties', 'nosql/definitions/computed-properties.ts', 'computedPropertiesMax'],
    ['lowest throughput, in RU/s', 'base/limits.ts', 'throughputMin'],
    ['highest throughput, in RU/s', 'base/limits.ts', 'throughputMax'],
    ['physical partitions', 'base/limits.ts', 'partitionsMax'],
  ],
  Requests: [
    ['the head of a request', 'server/http/request-parser.ts', 'headerBytesMax'],
    ['the body of a request', 'base/limits.ts', 'requestBytesMax'],
    ['time for a body to arrive', 'server/http/collect-body.ts', 'requestMsMax'],
    ['age of a signature, either way', 'nosql/access/authorize.ts', 'signatureSkewMsMax'],
    ['requests at a time on one HTTP/2 connection', 'server/http/http2-sessions.ts', 'concurrentStreamsMax'],
    ['the same, begun in one turn of the event loop', 'server/http/http2-sessions.ts', 'streamsInTurnMax'],
    ['time without reading an answer', 'base/slow-reader.ts', 'unreadMsMax'],
    ['time that a stopping server waits for requests', 'server/listener.ts', 'drainMsMax'],
    ['life of a resource token, in seconds', 'nosql/handlers/users.ts', 'tokenSecondsMax'],
  ],
  'Pages and queries (NoSQL)': [
    ['items of a page', 'base/limits.ts', 'pageItemsMax'],
    ['a page', 'base/limits.ts', 'pageBytesMax'],
    ['time of a page whose rows may be given one by one', 'query/execute.ts', 'queryPageMsMax'],
    ['time of any other page', 'nosql/http/work-time.ts', 'requestWorkMsMax'],
    ['time for one item', 'sql/values/run-context.ts', 'queryItemMsMax'],
    ['the text of a query', 'sql/syntax/parser.ts', 'queryTextBytesMax'],
    ['tokens of a query', 'sql/syntax/token-stream.ts', 'queryTokensMax'],
    ['levels of a query', 'base/limits.ts', 'queryDepthMax'],
    ['JOINs', 'sql/compile/source.ts', 'queryJoinsMax'],
    ['rows that JOINs make of one item', 'sql/values/run-context.ts', 'queryJoinRowsMax'],
    ['rows of subqueries for one item', 'sql/values/run-context.ts', 'querySubqueryRowsMax'],
    ['keys of a GROUP BY', 'sql/compile/select.ts', 'queryGroupKeysMax'],
    ['groups', 'sql/values/run-context.ts', 'queryGroupsMax'],
    ['memory for sorting, grouping and DISTINCT', 'base/limits.ts', 'queryMemoryBytesMax'],
    ['a value that a query makes', 'base/limits.ts', 'queryRowBytesMax'],
    ['a regular expression', 'document/pattern.ts', 'patternCharsMax'],
    ['indexes that queries caused, of one container', 'engine/index-keeper.ts', 'adaptiveIndexesMax'],
  ],
  Scripts: [
    ['time of a stored procedure, or of a write with its triggers', 'scripts/script-runner.ts', 'scriptMsMax'],
    ['memory', 'scripts/quickjs.ts', 'scriptMemoryBytesMax'],
    ['a response', 'scripts/script-runner.ts', 'scriptResponseCharsMax'],
    ['writes of one run', 'scripts/execution.ts', 'scriptWritesMax'],
    ['items written by one run, together', 'nosql/scripts/script-transaction.ts', 'scriptWritesCharsMax'],
    ['scripts at a time', 'scripts/script-turns.ts', 'scriptThreadsMax'],
    ['scripts that wait', 'scripts/script-turns.ts', 'scriptRunsWaitingMax'],
    ['scripts of one container that wait', 'scripts/script-turns.ts', 'scriptRunsOfContainerMax'],
    ['time that a script waits', 'scripts/script-turns.ts', 'scriptWaitMsMax'],
    ['steps of one call of a user-defined function', 'scripts/function-context.ts', 'functionStepsMax'],
    ['time of all such calls in one page', 'scripts/user-defined-functions.ts', 'functionPageMsMax'],
  ],
  MongoDB: [
    ['a document', 'document/bson/writer.ts', 'bsonBytesMax'],
    ['levels of a document', 'document/bson/validate.ts', 'bsonDepthMax'],
    ['a message', 'mongo/wire/frame.ts', 'mongoMessageBytesMax'],
    ['a message before the login', 'mongo/connection.ts', 'mongoStrangerMessageBytesMax'],
    ['fields of a command', 'mongo/requests/arguments.ts', 'mongoArgumentsMax'],
    ['document sequences of a message', 'mongo/wire/op-msg.ts', 'mongoSequencesMax'],
    ["variables in a command's let", 'mql/pipeline/pipeline.ts', 'commandVariablesMax'],
    ['statements of one write command', 'mongo/write/write-command.ts', 'mongoWriteBatchMax'],
    ['a batch of a cursor', 'mongo/service/cursors.ts', 'mongoBatchBytesMax'],
    ['open cursors', 'mongo/service/cursors.ts', 'mongoCursorsMax'],
    ['idle time of a cursor', 'mongo/service/cursors.ts', 'mongoCursorIdleMsMax'],
    ['sessions', 'mongo/session/sessions.ts', 'mongoSessionsMax'],
    ['idle minutes of a session', 'mongo/session/retry-record.ts', 'mongoSessionMinutes'],
    ['time of a transaction', 'mongo/session/transaction.ts', 'mongoTransactionMsMax'],
    ['time of a command that only reads', 'mongo/service/operations.ts', 'mongoReadMsMax'],
    ['conditions of a partial index', 'mongo/index-specs/partial-filter.ts', 'partialConditionsMax'],
    ['age of a snapshot', 'mongo/service/snapshot-reads.ts', 'mongoSnapshotMsMax'],
    ['stages of a pipeline', 'mql/pipeline/stage-list.ts', 'pipelineStagesMax'],
    ['memory of one stage', 'mql/stages/memory.ts', 'aggregationMemoryBytesMax'],
    ['values of a distinct', 'mql/distinct.ts', 'distinctBytesMax'],
    ['documents that $densify adds', 'mql/stages/densify.ts', 'generatedDocumentsMax'],
    ['the name of a database', 'mongo/requests/namespace.ts', 'mongoDatabaseNameBytesMax'],
    ['a database name with a collection name', 'mongo/requests/namespace.ts', 'mongoNamespaceBytesMax'],
    ['views on views', 'mongo/collections/views.ts', 'viewDepthMax'],
  ],
  'Data in and out': [
    ['a row of an import', 'transfer/input.ts', 'rowBytesMax'],
    ['a seed in one file', 'transfer/seed.ts', 'seedBytesMax'],
    ['snapshots that a server holds', 'engine/snapshots.ts', 'snapshotsMax'],
    ['bodies in all snapshots', 'engine/snapshots.ts', 'bytesMax'],
    ['parts of a forecast', 'ttl/report.ts', 'forecastBucketsMax'],
  ],
  Explorer: [
    ['live connections', 'explorer/live/hub.ts', 'connectionsMax'],
    ['sessions', 'explorer/access/sessions.ts', 'sessionsMax'],
    ['life of a session', 'explorer/access/sessions.ts', 'ageMsMax'],
    ['life of a session without a call', 'explorer/access/sessions.ts', 'idleMsMax'],
    ['wrong keys a minute from one address', 'explorer/access/attempts.ts', 'wrongMaxOfAddress'],
    ['running queries', 'explorer/service/running-queries.ts', 'runningMax'],
  ],
  PostgreSQL: [
    ['connections in the pool of one server', 'adapters/postgres/connection/connections.ts', 'postgresPoolMax'],
    ['more connections for point reads', 'adapters/postgres/connection/connections.ts', 'postgresReadersMax'],
    ['time of a statement', 'adapters/postgres/connection/connections.ts', 'postgresStatementMsMax'],
    ['time to connect', 'adapters/postgres/connection/connections.ts', 'postgresConnectMsMax'],
  ],
}

/** The number that a constant has: its text is arithmetic over numbers and other constants. */
export function limitOf(file: string, constant: string): number {
  const [, expression] =
    new RegExp(`^(?:export )?const ${constant}(?:: number)? = (.+?)(?: //.*)?$`, 'm').exec(sources.text(file)) ?? []
  if (expression === undefined) throw new Error(`There is no constant ${constant} in ${file}.`)
  return expression
    .split(' + ')
    .map(sum => product(sum, file))
    .reduce((sum, part) => sum + part, 0)
}

function product(text: string, file: string): number {
  return text
    .split(' * ')
    .map(factor =>
      /^[\d_]+$/.test(factor) ? Number(factor.replaceAll('_', '')) : limitOf(homeOf(factor, file), factor),
    )
    .reduce((product, factor) => product * factor, 1)
}

/** The file of a constant that another one is made of: the same file, or the one that exports it. */
function homeOf(constant: string, file: string): string {
  if (sources.text(file).includes(`const ${constant} = `)) return file
  const home = sources.paths.find(path => sources.text(path).includes(`export const ${constant} = `))
  if (home === undefined) throw new Error(`${file} uses ${constant}, which is no exported constant.`)
  return home
}

const KiB = 1024
const MiB = 1024 * KiB

/** With the unit that the name of the constant tells. */
function shown(constant: string, value: number): string {
  const count = value.toLocaleString('en-US')
  if (/Bytes?Max$|^bytesMax$/.test(constant)) return bytes(value)
  if (/CharsMax$/.test(constant)) return `${count} characters`
  if (/MsMax$/.test(constant)) return duration(value)
  return count
}

function bytes(value: number): string {
  if (value % MiB === 0) return `${value / MiB} MiB`
  if (value % 1_000_000 === 0) return `${value / 1_000_000} MB`
  return value % KiB === 0 && value >= KiB
    ? `${(value / KiB).toLocaleString('en-US')} KiB`
    : `${value.toLocaleString('en-US')} bytes`
}

function duration(ms: number): string {
  if (ms % 3_600_000 === 0) return `${ms / 3_600_000} h`
  if (ms % 60_000 === 0) return `${ms / 60_000} min`
  return ms % 1000 === 0 ? `${ms / 1000} s` : `${ms} ms`
}

function lines(): string[] {
  const rows = Object.entries(sections).flatMap(([about, limits]) =>
    limits.map(([subject, file, constant]) => {
      const value = shown(constant, limitOf(`src/${file}`, constant))
      return `| ${about} | ${subject} | ${value} | \`${constant}\` in \`${file}\` |`
    }),
  )
  return ['| about | what | limit | constant |', '|---|---|---|---|', ...rows]
}

export const limitsPage: GeneratedPage = { path: 'docs/limits.md', tool: 'tools/limits-page.ts', lines }

if (process.argv[1] === import.meta.filename) write(limitsPage)
