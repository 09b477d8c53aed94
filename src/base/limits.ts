/** Limits that several layers share, each with its reason. Other limits stand in the file that uses them. */

export const KiB = 1024
export const MiB = 1024 * KiB

/** The service's item limit is 2 MB of UTF-8, system properties not counted. */
export const itemBytesMax = 2 * MiB

/** The largest request body: an item with its envelope, or the largest batch. */
export const requestBytesMax = itemBytesMax + 256 * KiB

/** The largest definition of a database or container. Real ones are much smaller. */
export const definitionBytesMax = 256 * KiB

/** The service refuses JSON nested deeper. It also keeps recursive readers far from a stack overflow. */
export const nestingDepthMax = 128

/** Items in one page of a feed: the default, and the most. */
export const pageItemsDefault = 100
export const pageItemsMax = 1000

/** The service ends a page at 4 MB. It also bounds the memory of one answer. */
export const pageBytesMax = 4 * MiB

/** Writes in one commit. More would block the event loop for too long (measured: 256 writes take 9 ms). */
export const groupWritesMax = 256

/**
 * A commit of the embedded store ends with the write that exceeds this. One of 32 items of 2 MB would block
 * the event loop for half a second.
 */
export const commitBytesMax = 1 * MiB

/** Rows that one sweep removes. 100 rows block the event loop for 1 ms, 500 for 6 ms (docs/expiry.md). */
export const sweepRowsMax = 100

/** Rows, alive or dead, that a store examines in one turn of the event loop: less than 2 ms. */
export const sliceRowsMax = 5000

/** Throughput that the service accepts. 400 is also the default of a container. */
export const throughputMin = 400
export const throughputDefault = 400
export const throughputMax = 1_000_000
export const autoscaleThroughputMin = 1000

/** Throughput comes in steps: 100 RU/s for manual throughput, 1000 RU/s for the maximum of autoscale. */
export const throughputStep = 100
export const autoscaleThroughputStep = 1000

/** Physical partitions of a container. More would only make the routing tables of clients longer. */
export const partitionsMax = 100

/**
 * Depth of a query's syntax tree: parentheses, subqueries, operator chains and property paths together. Items
 * nest at most 128 deep, so no path is deeper; the rest is for operators. It keeps recursive walks far from a
 * stack overflow.
 */
export const queryDepthMax = 256

/** Memory of one query for sorting, grouping and removing duplicates. */
export const queryMemoryBytesMax = 256 * MiB

/** A value that a query makes, as JSON. It may be larger than a page: only a part of it may be returned. */
export const queryRowBytesMax = 16 * MiB

/** Steps that LIKE, regular expressions and list searches may take for one item: about one blocked second. */
export const queryStepsMax = 50_000_000

/** Items that a query reads in one batch: less than 1 ms, so that a slice can end between two batches. */
export const scanItemsMax = 500
export const scanBytesMax = 1 * MiB

/** The longest time a query runs on the event loop before other requests get a turn. */
export const querySliceMsMax = 2

/** Items that one step of an index build adds: about 1.4 ms on the event loop. */
export const indexBuildRowsMax = 100

/**
 * Bytes of the bodies in one group of writes. A single larger write still goes through. With PostgreSQL the
 * group is one statement under the bucket's lock.
 */
export const groupBytesMax = 8 * MiB
