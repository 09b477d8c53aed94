/** Every bound in the system in one table: sizes, counts, depths and times, each with its reason. */

const KiB = 1024
const MiB = 1024 * KiB

/** The service's item limit is 2 MB of UTF-8, system properties not counted. */
export const itemBytesMax = 2 * MiB

/** Room for an item plus its envelope, and for the largest batch; the reading of a request body stops here. */
export const requestBytesMax = itemBytesMax + 256 * KiB

/** Definitions of databases and containers are small; nothing legitimate comes near this. */
export const definitionBytesMax = 256 * KiB

/** The service refuses JSON nested deeper; it also keeps every recursive reader far from the end of the stack. */
export const nestingDepthMax = 128

/** The service's limit for the id of an item, in bytes of UTF-8. */
export const itemIdBytesMax = 1023

/** The service's limit for the ids of databases and containers, in characters. */
export const resourceIdCharsMax = 255

/** The service's limit for a partition key value, in bytes of UTF-8. */
export const partitionKeyBytesMax = 2048

/** A hierarchical partition key has at most three levels. */
export const partitionKeyLevelsMax = 3

/** Time to live is an int32 number of seconds. */
export const ttlSecondsMax = 2_147_483_647

/** Items in one page of a feed, when the client asks for none or for too many. */
export const pageItemsDefault = 100
export const pageItemsMax = 1000

/** The service stops a page at 4 MB; it also bounds what one answer can hold in memory. */
export const pageBytesMax = 4 * MiB

/** Writes in one commit. More would hold the event loop longer than a turn should take (measured: 256 writes, 9 ms). */
export const groupWritesMax = 256

/** Turns of the event loop that writes wait for more to come: all of 32 clients are there by then, and beside many reads a turn is long. */
export const groupTurnsMax = 3

/** Pages of 8 KiB after which the embedded store's log is carried over into its file: the best bounded tail (max 9 ms measured). */
export const checkpointPages = 1000

/** More of them than this are left to another thread: 100 take about a millisecond. */
export const checkpointOwnPagesMax = 4 * checkpointPages

/** Rows one sweep removes. 100 rows hold the event loop for about a millisecond, 500 for six (docs/expiry.md). */
export const sweepRowsMax = 100

/** Rows examined between two turns of the event loop by counts and forecasts: each slice stays under two milliseconds. */
export const sliceRowsMax = 5000

/** How long background work waits for an idle moment while requests keep coming before it gets one step anyway. */
export const starvationMsMax = 50

/** Long enough that a client in a tight loop would have been heard from. */
export const idleCheckMs = 5

/** How often the purger looks for work when nothing else wakes it. */
export const purgeIntervalMs = 1000

/** The signature of a request is valid this long before and after its date, as in the service. */
export const signatureSkewMsMax = 15 * 60 * 1000

/** Dates of signatures that are known again: most of those that could be accepted. */
export const rememberedDatesMax = 1024

/** Throughput the service accepts. 400 is also what a container gets when nobody says anything. */
export const throughputMin = 400
export const throughputDefault = 400
export const throughputMax = 1_000_000
export const autoscaleThroughputMin = 1000

/** One physical partition serves at most this much (the service's documented limit). */
export const partitionThroughputMax = 10_000

/** More physical partitions than this would only make every client's routing table longer. */
export const partitionsMax = 100

/** A request whose headers have not arrived by then is cut (slow-loris); the same for its body. */
export const headersTimeoutMs = 10_000
export const requestTimeoutMs = 30_000

/** A body that has not arrived by then is left to node:http, which watches over slow connections. */
export const bodyArrivalMsMax = 1000

/** Bytes of headers a request may have: node's default, stated. */
export const headerBytesMax = 16 * KiB

/** Names of headers that are known again. All SDKs together send fewer; further ones are understood as well, and looked at each time. */
export const rememberedNamesMax = 256

/** Clients keep connections for minutes; one that is closed just as it is reused costs them a retry. */
export const keepAliveMs = 65_000

/** How long a stopping server waits for requests under way. */
export const drainMsMax = 10_000

/** Buckets of an expiry forecast. */
export const forecastBucketsMax = 1000

/** The service's limit for the text of a query. Everything the parser does is linear in it. */
export const queryTextBytesMax = 512 * KiB

/**
 * How high the tree of a query may grow: parentheses, subqueries, operator chains and property paths together. Items nest
 * 128 deep at most, so no path needs more; every recursive walk over a query stays far from the end of the stack.
 */
export const queryDepthMax = 256

/**
 * Words and signs of one query. A text full of GUIDs has fewer; one full of `1 OR 1 OR` is refused within 30 milliseconds
 * instead of holding the event loop for longer.
 */
export const queryTokensMax = 65_536

/** Prepared queries kept by text. Applications use few texts and many parameters. */
export const preparedQueriesMax = 256

/** Texts longer than this are prepared anew each time, so that the kept ones never hold more than a few megabytes. */
export const preparedQueryCharsMax = 16 * KiB

/** Rows one item may become through JOINs. Three arrays of a hundred make a million; a larger product is a mistake. */
export const queryJoinRowsMax = 1_000_000

/** Steps one item may cost in its subqueries, for the same reason: correlated subqueries multiply as JOINs do. */
export const querySubqueryRowsMax = 5_000_000

/** What sorting, grouping and removing duplicates may hold in memory for one query. */
export const queryMemoryBytesMax = 256 * MiB

/** Groups of a GROUP BY; each holds its accumulators. */
export const queryGroupsMax = 100_000

/** Keys of one GROUP BY. Every part of the select list is compared with each of them. */
export const queryGroupKeysMax = 64

/** A row of a result, or a part of one, as JSON. A page holds 4 MB, so a larger row could not be answered anyway. */
export const queryRowBytesMax = 16 * MiB

/** Parts looked at by one `=`: more than the largest item has. Only values that a query builds by sharing reach it. */
export const queryComparisonStepsMax = 5_000_000

/** Steps one item may cost in LIKE, regular expressions and searches of lists: a second or so in which nobody else gets a turn. */
export const queryStepsMax = 50_000_000

/** How long the functions of a query may work on one item. What has no better bound has this one; the service's is per page. */
export const queryItemMsMax = 5000

/** Length of a text times length of what is looked for, up to which the JavaScript engine may search: ten milliseconds at worst. */
export const searchProductMax = 2 ** 26

/** A string made by a query (CONCAT, ||, REPLACE, STRINGJOIN, TOSTRING): as long as an item may be, and no longer. */
export const queryStringCharsMax = 2 * MiB

/** The service's documented limit for the result of REPLICATE. */
export const replicateCharsMax = 10_000

/** Compiled regular expressions kept during one run of a query; patterns that come from data could be endless. */
export const queryPatternsMax = 64

/** Throughput is sold in steps: 100 RU/s when provisioned by hand, 1000 RU/s for the ceiling of autoscale. */
export const throughputStep = 100
export const autoscaleThroughputStep = 1000

/** What the service allows in one container definition (its pages on limits, unique keys and computed properties). */
export const indexPathsMax = 1500
export const compositeIndexesMax = 100
export const compositeIndexPathsMax = 8
export const uniqueKeysMax = 10
export const uniqueKeyPathsMax = 16
export const computedPropertiesMax = 20

/** What the service allows in a vector index; a flat index takes short vectors only. */
export const vectorDimensionsMax = 4096
export const flatVectorDimensionsMax = 505
export const quantizationBytesMax = 512
export const indexingSearchListSizeMin = 25
export const indexingSearchListSizeMax = 500
export const vectorShardPathsMax = 1

/** The service's documented limit for JOINs in one query. */
export const queryJoinsMax = 10

/** TOP, OFFSET and LIMIT are unsigned 32-bit numbers in the service. */
export const queryCountMax = 4_294_967_295

/** Items a query reads at a time: fewer than a millisecond's worth, so that a slice can end between two batches. */
export const scanItemsMax = 500
export const scanBytesMax = 1 * MiB

/**
 * How much of a row's place travels in a continuation token. SDKs ask for tokens of 1 KB at most, and clients refuse answers
 * with more than 16 KB of headers.
 */
export const placeBytesMax = 384

/** How long a query may hold the event loop before others get a turn. */
export const querySliceMsMax = 2

/** After this a page that goes on in source order is given back as it is; the service does so after five seconds. */
export const queryPageMsMax = 2000

/**
 * Keys of an index are cut here. A key above a quarter of a page spills to an overflow page of its own (measured at 1000
 * characters: 3 times the time and 15 times the space), and PostgreSQL refuses keys above 2.7 KB.
 */
export const indexKeyBytesMax = 256

/** Entries one item may have in an index of array elements. An entry costs about 10 us, so these hold a write for 10 ms. */
export const indexEntriesPerItemMax = 1000

/** Values of an IN that are looked up in an index one by one; more are left to the filter. */
export const indexBoundsMax = 256

/** Items that one step of an index build enters: about 1.4 ms on the event loop. */
export const indexBuildRowsMax = 100

/** Below this many items a scan is as good as an index. */
export const adaptiveIndexRowsMin = 2000

/** An index is made when scans that it would have avoided have read so many times the container: building costs about five. */
export const adaptiveScansMin = 5

/** Paths of one container whose scans are counted. Applications ask for few; a client that makes paths up must not fill memory. */
export const adaptiveWishesMax = 64

/** Adaptive indexes of one container: with four, inserts run at about a quarter of their rate without any. */
export const adaptiveIndexesMax = 4

/** The same where somebody asked that everything be indexed and writes pay for it, as they do in MongoDB. */
export const promisedIndexesMax = 16

/** An adaptive index goes when so many writes, or half as many as there are items, kept it up since its last use. */
export const adaptiveUnusedWritesMin = 10_000

/** Connections of a gateway to PostgreSQL: pipelined ones for point reads, and a pool for what takes longer. */
export const postgresReadersMax = 2
export const postgresPoolMax = 10

/** Point reads that share a statement. Many clients make several groups, which PostgreSQL and we work on by turns. */
export const postgresReadsGroupedMax = 16

/** PostgreSQL ends a statement after this. Long scans are bounded by it, and so is waiting for the lock of a bucket. */
export const postgresStatementMsMax = 10_000

/** How long the writes to several buckets wait for one of them, before each goes on by itself: longer than a group takes. */
export const postgresLockMsMax = 20

/** A gateway that stalls in the middle of a write holds a bucket and the clock; PostgreSQL ends its session after this. */
export const postgresIdleTransactionMsMax = 2000

export const postgresConnectMsMax = 5000

/** How often something is tried that lost its connection or lost against another transaction, and the first wait between. */
export const postgresAttemptsMax = 5
export const postgresRetryMs = 20

/** After this nothing is tried again: the client has more use for a 503 than for an answer that comes too late. */
export const postgresPatienceMs = 10_000

/** How often a connection is asked for while PostgreSQL has none to give: 2.5 seconds in all, for others to give theirs back. */
export const postgresConnectionsAskedMax = 9

/** The oldest PostgreSQL that is still maintained; nothing here is tried with older ones. */
export const postgresVersionMin = 140_000

/** How often a transaction decides again because others have written meanwhile, before it takes the locks first. */
export const postgresRacesMax = 3

/** How long a gateway believes in its copy of the catalog. Where there are several, changes of the catalog take that much longer. */
export const postgresLeaseMs = 50

/** How often a gateway says that it is there; one that has been silent for three times as long counts as gone. */
export const postgresSignOnMs = 10_000

/** Bodies in one group of writes: what one statement carries, and the bucket is locked for. At least one write goes. */
export const groupBytesMax = 8 * MiB

/** Large partition keys that are remembered; names of them, a megabyte at most in ordinary use. */
export const largePartitionsMax = 10_000

/** A build waits less than a purge: queries scan until it is done. A million items take two minutes beside steady requests. */
export const indexBuildWaitMsMax = 10

/** MongoDB's own limits, as `hello` tells them to drivers: a message, the writes of one command. */
export const mongoMessageBytesMax = 48_000_000
export const mongoWriteBatchMax = 100_000

/** A message before login is a greeting or a step of the login; a stranger shall not make us hold more. */
export const mongoStrangerMessageBytesMax = 1 * MiB

/** Chunks of a message that are kept as they came before they are joined: a client may send single bytes. */
export const mongoMessagePartsMax = 1024

/** Messages of one connection that wait for their turn. Drivers send one at a time; whoever sends more waits in the socket. */
export const mongoWaitingMessagesMax = 64

/** Larger messages are compressed and decompressed outside the event loop. */
export const mongoInlineCompressionBytesMax = 64 * KiB

/** MongoDB documents at most 100 levels of nesting for stored documents, and its commands carry up to 180. */
export const bsonDepthMax = 100
export const bsonCommandDepthMax = 180

/** What expressions and updates build nests deeper than what may be stored before it is refused; no walk may recurse further. */
export const bsonWriteDepthMax = 200

/** MongoDB's own limit for a buffer; a document is refused far earlier, by `bsonBytesMax`. */
export const bsonWriteBytesMax = 64 * MiB

/** MongoDB's limit for one document. */
export const bsonBytesMax = 16 * MiB

/** How long a Mongo session lives without being used, as `hello` tells drivers, and how many there may be. */
export const mongoSessionMinutes = 30
export const mongoSessionsMax = 100_000

/** A cursor that nobody asks for this long is closed, as MongoDB does; and how many may be open. */
export const mongoCursorIdleMsMax = 10 * 60 * 1000
export const mongoCursorsMax = 10_000

/** Documents in the first batch of a cursor when the client does not say, and the bytes of any batch. */
export const mongoFirstBatchDefault = 101
export const mongoBatchBytesMax = 16 * MiB

/** Rows of a container up to which a scan stays on the thread that answers everybody: about a millisecond. */
export const inlineRowsMax = 500

/** Slices after which a page that began there is made by the query thread instead. */
export const inlineSlicesMax = 2

/** Pages that the query thread makes at the same time, by turns. Each has a connection, with a cache of its own. */
export const querySnapshotsMax = 8

/** Containers whose statements a connection of the query thread keeps. */
export const snapshotContainersMax = 64

/** How often a page is planned anew because indexes came or went meanwhile, before it is made where nothing can change. */
export const pagePlansMax = 3

/** What the query thread reads, encodes and sorts at a time for an index: half a second, and 20 MB with its keys. */
export const indexRangeRowsMax = 100_000
export const indexRangeBytesMax = 16 * MiB

/** Below this many items an index is built item by item: that is done before another thread has begun. */
export const indexSortRowsMin = 2000

/** Sorted entries that one step of a build brings in: under a millisecond, because neighbours share pages. */
export const indexBuildEntriesMax = 500

/** The service gives a stored procedure or trigger five seconds. */
export const scriptMsMax = 5000

/** The part of that time in which a script's calls are accepted; the rest is there to end in good order. */
export const scriptAcceptShare = 0.8

/** A script that hears of its end but does not come to it is ended with its thread: one call of a built-in can take seconds. */
export const scriptKillMsMax = 250

/**
 * The memory of a thread that runs scripts, all in all. QuickJS counts 8 bytes per allocation when it runs as WebAssembly and lets a
 * script pass 600 MB under a limit of 64, so that the bound is the size of the WebAssembly memory itself.
 */
export const scriptMemoryBytesMax = 64 * MiB

/** Recursion in a script ends here. The thread's own stack must be far larger, or the engine dies of what it should refuse. */
export const scriptStackBytesMax = 256 * KiB
export const scriptThreadStackMb = 16

/** What a script may send back: as much as a page. The service's limit is the same, in characters. */
export const scriptResponseCharsMax = 4 * MiB

/** The text of one call of a script: an item, or a query. */
export const scriptCallCharsMax = 4 * MiB

/** Calls a script may have made without an answer, and their characters. More are not accepted. */
export const scriptCallsWaitingMax = 10_000
export const scriptCallsWaitingCharsMax = 16 * MiB

/** Of these, how many are sent to the server's thread before the first is answered: it hears all that have arrived in one turn. */
export const scriptCallsSentMax = 100

/** The log of a script travels in a header, and clients refuse answers with more than 16 KB of headers. */
export const scriptLogEncodedCharsMax = 8 * KiB

/** How much of an error that a script throws is passed on. */
export const scriptErrorCharsMax = 8 * KiB

/** How long the calls of a script may hold the event loop before others get a turn: thousands of them can wait. */
export const scriptSliceMsMax = 2

/** Threads that run scripts, so that one script in a loop does not stop all others; and how many runs may wait for one. */
export const scriptThreadsMax = 2
export const scriptRunsWaitingMax = 256

/**
 * Turns of loops and calls of functions in one call of a user-defined function: about 10 milliseconds. Counted, because a time would end
 * harmless functions on a busy machine.
 */
export const functionStepsMax = 1_000_000

/** Whoever evaluates a query waits so long for a function, and as long again if it is at work; then its thread is ended. */
export const functionKillMsMax = 25

/** Longer by what the engine needs to read the arguments: it reads and writes 15 KB of JSON per millisecond. */
export const functionCharsPerMs = 8 * KiB

/** A thread that gets no processor time is waited for up to here. */
export const functionStarvedMsMax = 1000

/** User-defined functions in one page of a query, all calls together: the service's five seconds. */
export const functionPageMsMax = 5000

/** Pages with user-defined functions at the same time. Each has a context of 300 KB in the one thread. */
export const functionSessionsMax = 64

/** MongoDB's limits for the name of a database and for `database.collection`. */
export const mongoDatabaseNameBytesMax = 63
export const mongoNamespaceBytesMax = 255

/** An `_id` is part of an index; a longer one stands there with its beginning and a digest. */
export const mongoIdKeyBytesMax = 384

/** Documents from which the size of a collection is estimated. */
export const mongoSizeSampleMax = 100

/** What one stage of an aggregation may hold in memory: MongoDB's limit, beyond which it writes to disk or refuses. */
export const aggregationMemoryBytesMax = 100 * MiB

/** MongoDB's limits for the stages of a pipeline and for pipelines within pipelines. */
export const pipelineStagesMax = 1000
export const pipelineDepthMax = 20

/** Elements that expressions look at for one document: a second or so in which nobody else gets a turn. */
export const expressionStepsMax = 10_000_000

/** Elements of an array made by an expression. What is larger could not be stored, because an element takes 8 bytes and more. */
export const expressionArrayElementsMax = 2_000_000

/** Characters of a string made by an expression, for the same reason. */
export const expressionStringCharsMax = 16 * MiB

/** Documents that go from one stage of a pipeline to the next at a time. */
export const pipelineBatchDocumentsMax = 250

/** Documents whose ends are written anew in one transaction, when a TTL index on dates is made or changed. */
export const mongoRewriteBatchMax = 100

/** The service's limits for one partial update and for one batch; the .NET SDK fills bulk requests up to these bytes. */
export const patchOperationsMax = 10
export const batchOperationsMax = 100
export const batchBytesMax = 2_202_010

/** Values of `_id` that a filter may name to be read one by one; a search serves more of them better. */
export const mongoIdsMax = 1000

/** Documents asked for at once while a batch is put together. */
export const mongoPageDocumentsMax = 10_000

/** Nulls that an update puts before a new element far behind the end of an array: MongoDB's own limit, 13 MB of them. */
export const arrayPaddingMax = 1_500_000

/** MongoDB's default for how long a transaction may run. */
export const mongoTransactionMsMax = 60_000

/** Writes in one transaction of the store: `insertMany` sends batches of 1,000, and one commit costs less than several. */
export const mongoWriteStepsMax = 1000

/** How often a document is looked for that others keep changing before it can be written. */
export const mongoRacesMax = 20

/** The values of a `distinct` come in one document. */
export const mongoDistinctBytesMax = 16 * MiB

/** Items that one transaction of a delete by partition key removes: about a millisecond on the event loop. */
export const partitionDeleteItemsMax = 100

/** Writes of one run that are accepted: all of them are one commit, and 5,000 held the event loop for 55 to 103 ms. */
export const scriptWritesMax = 2000

/** What one run of a script may hold back until it ends, in characters of items: as much again as it may have waiting. */
export const scriptWritesCharsMax = 32 * MiB

/** How often a script is run because somebody else changed what it read or wrote in the meantime. */
export const scriptAttemptsMax = 5

/** For how long a collection that somebody watches remembers its changes: a stream that was away longer begins anew. */
export const mongoChangeLogSeconds = 24 * 3600

/** A resume token has a position for each collection that its stream watches. */
export const mongoTokenBytesMax = 1 * MiB

/** How long a change stream sleeps when it is not woken: purges and other gateways change things unheard. */
export const mongoChangePollMs = 100

/** Events read at a time from one log. */
export const mongoEventsMax = 500

/** Replacements that are told from updates in change streams; of older ones it is no longer known. */
export const mongoReplacementsMax = 10_000

/** Items that are moved from one store to another at a time: what a transfer that is broken off has to do again. */
export const transferItemsMax = 500

/** How long a resource token is good for, in seconds: the service's bounds, and an hour when nobody says. */
export const tokenSecondsMin = 10
export const tokenSecondsDefault = 3600
export const tokenSecondsMax = 86_400

/** How often idle cursors and sessions are looked for. */
export const mongoHousekeepingMs = 60_000
