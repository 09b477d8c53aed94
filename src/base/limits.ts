/** Every bound in the system in one table: sizes, counts, depths and times, each with its reason. */

const KiB = 1024
const MiB = 1024 * KiB

/** The service's item limit is 2 MB of UTF-8, system properties not counted. */
export const itemBytesMax = 2 * MiB

/** Room for an item plus its envelope; the reading of a request body stops here. */
export const requestBytesMax = itemBytesMax + 64 * KiB

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

/** Bytes of headers a request may have: node's default, stated. */
export const headerBytesMax = 16 * KiB

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
export const scanItemsMax = 250
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

/** An adaptive index goes when so many writes, or half as many as there are items, kept it up since its last use. */
export const adaptiveUnusedWritesMin = 10_000

/** Connections of a gateway to PostgreSQL: pipelined ones for point reads, and a pool for what takes longer. */
export const postgresReadersMax = 2
export const postgresPoolMax = 10

/** PostgreSQL ends a statement after this. Long scans are bounded by it, and so is waiting for the lock of a bucket. */
export const postgresStatementMsMax = 10_000

/** A gateway that stalls in the middle of a write holds a bucket and the clock; PostgreSQL ends its session after this. */
export const postgresIdleTransactionMsMax = 2000

export const postgresConnectMsMax = 5000

/** How often something is tried that lost its connection or lost against another transaction, and the first wait between. */
export const postgresAttemptsMax = 5
export const postgresRetryMs = 20

/** Bodies in one group of writes: what one statement carries, and the bucket is locked for. At least one write goes. */
export const groupBytesMax = 8 * MiB

/** Large partition keys that are remembered; names of them, a megabyte at most in ordinary use. */
export const largePartitionsMax = 10_000

/** A build waits less than a purge: queries scan until it is done. A million items take two minutes beside steady requests. */
export const indexBuildWaitMsMax = 10
