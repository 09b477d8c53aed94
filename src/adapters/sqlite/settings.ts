/** How the writer uses SQLite. The benchmarks give what they compare it with the same. */

/**
 * Creates of 1 KB cost a tenth less than with 4 KiB, at equal reads; 16 KiB are slower where keys are random
 * (docs/decisions/0005).
 */
export const pageBytes = 8192

/**
 * Reads look into the file itself as far as it can be mapped, so little has to be kept: SQLite walks over all
 * that it keeps whenever pages of an index change places, in a commit that everybody waits for
 * (docs/decisions/0011). A log that grew behind a long page of a query is cut back to 64 MB. What a
 * transaction may have to take back is remembered in memory: most batches of a hundred items made a temporary
 * file for it.
 */
export const fileSettings = `
  PRAGMA page_size = ${pageBytes};
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  PRAGMA journal_size_limit = 67108864;
  PRAGMA cache_size = -32768;
  PRAGMA mmap_size = 2147418112;
  PRAGMA temp_store = MEMORY;
  PRAGMA foreign_keys = ON;
  PRAGMA trusted_schema = OFF;
`
