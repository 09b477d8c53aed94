/** Settings of the connection over which a server writes. Benchmarks use them for other programs too. */

/**
 * With 8 KiB, creates of 1 KB cost a tenth less than with 4 KiB, and reads the same. 16 KiB are slower if
 * keys are random (docs/decisions/0005).
 */
export const pageBytes = 8192

/**
 * - The file is memory-mapped as far as SQLite allows (2 GiB - 64 KiB), so a small page cache is enough. A
 *   large one is slow: SQLite walks over the whole cache when pages of an index move, in a commit that
 *   everybody waits for (docs/decisions/0011).
 * - After a long page of a query has made the WAL grow, it is cut back to 64 MB.
 * - Removed data is overwritten with zeros, in free pages too. Together with giving pages back it makes a
 *   sweep a fifth dearer (docs/reliability.md).
 * - Free pages can be given back to the file system. This must be set before the first table is made, so
 *   files of earlier builds never shrink.
 * - Savepoints keep their journal in memory. Otherwise most batches of a hundred items would create a
 *   temporary file.
 */
export const fileSettings = `
  PRAGMA page_size = ${pageBytes};
  PRAGMA auto_vacuum = INCREMENTAL;
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -32768;
  PRAGMA mmap_size = 2147418112;
  PRAGMA secure_delete = ON;
  PRAGMA temp_store = MEMORY;
  PRAGMA foreign_keys = ON;
  PRAGMA trusted_schema = OFF;
`
