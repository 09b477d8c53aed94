/** The limits that several layers share, each with its reason. A limit of one place stands in that place. */

export const KiB = 1024
export const MiB = 1024 * KiB

/** The service's item limit is 2 MB of UTF-8, system properties not counted. */
export const itemBytesMax = 2 * MiB

/**
 * Room for an item plus its envelope, and for the largest batch; the reading of a request body stops here.
 */
export const requestBytesMax = itemBytesMax + 256 * KiB

/** Definitions of databases and containers are small; nothing legitimate comes near this. */
export const definitionBytesMax = 256 * KiB

/**
 * The service refuses JSON nested deeper; it also keeps every recursive reader far from the end of the stack.
 */
export const nestingDepthMax = 128

/** Items in one page of a feed, when the client asks for none or for too many. */
export const pageItemsDefault = 100
export const pageItemsMax = 1000

/** The service stops a page at 4 MB; it also bounds what one answer can hold in memory. */
export const pageBytesMax = 4 * MiB

/**
 * Writes in one commit. More would hold the event loop longer than a turn should take (measured: 256 writes,
 * 9 ms).
 */
export const groupWritesMax = 256

/**
 * Rows one sweep removes. 100 rows hold the event loop for about a millisecond, 500 for six (docs/expiry.md).
 */
export const sweepRowsMax = 100

/**
 * Rows examined between two turns of the event loop by counts and forecasts: each slice stays under two
 * milliseconds.
 */
export const sliceRowsMax = 5000

/** Throughput the service accepts. 400 is also what a container gets when nobody says anything. */
export const throughputMin = 400
export const throughputDefault = 400
export const throughputMax = 1_000_000
export const autoscaleThroughputMin = 1000

/** More physical partitions than this would only make every client's routing table longer. */
export const partitionsMax = 100

/**
 * How high the tree of a query may grow: parentheses, subqueries, operator chains and property paths
 * together. Items nest 128 deep at most, so no path needs more; every recursive walk over a query stays far
 * from the end of the stack.
 */
export const queryDepthMax = 256

/** What sorting, grouping and removing duplicates may hold in memory for one query. */
export const queryMemoryBytesMax = 256 * MiB

/**
 * A row of a result, or a part of one, as JSON. A page holds 4 MB, so a larger row could not be answered
 * anyway.
 */
export const queryRowBytesMax = 16 * MiB

/**
 * Steps one item may cost in LIKE, regular expressions and searches of lists: a second or so in which nobody
 * else gets a turn.
 */
export const queryStepsMax = 50_000_000

/** Throughput is sold in steps: 100 RU/s when provisioned by hand, 1000 RU/s for the ceiling of autoscale. */
export const throughputStep = 100
export const autoscaleThroughputStep = 1000

/**
 * Items a query reads at a time: fewer than a millisecond's worth, so that a slice can end between two
 * batches.
 */
export const scanItemsMax = 500
export const scanBytesMax = 1 * MiB

/** How long a query may hold the event loop before others get a turn. */
export const querySliceMsMax = 2

/** Items that one step of an index build enters: about 1.4 ms on the event loop. */
export const indexBuildRowsMax = 100

/**
 * Bodies in one group of writes: what one statement carries, and the bucket is locked for. At least one write
 * goes.
 */
export const groupBytesMax = 8 * MiB
