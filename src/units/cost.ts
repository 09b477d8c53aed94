/**
 * What an operation costs in request units, from the bytes and rows it touches (see docs/request-units.md).
 *
 * The service documents four points: a point read of 1 KB costs 1 RU and of 100 KB about 10; a write of 1 KB
 * costs about 5 and of 100 KB about 50. A square root passes through all of them.
 */

const bytesPerKiB = 1024

function growth(bytes: number): number {
  return bytes <= bytesPerKiB ? 1 : Math.sqrt(bytes / bytesPerKiB)
}

function rounded(ru: number): number {
  return Math.round(ru * 100) / 100
}

export function readRu(bytes: number): number {
  return rounded(growth(bytes))
}

export function writeRu(bytes: number): number {
  return rounded(5 * growth(bytes))
}

/** Removing an item touches its keys, not its body. A client's delete and the purger cost the same. */
export const deleteRu = 5

/** A page of a feed: a base price, then a price per row and per KiB. */
export function pageRu(rows: number, bytes: number): number {
  return rounded(2 + 0.01 * rows + (0.03 * bytes) / bytesPerKiB)
}

/** Reading and changing definitions. */
export const catalogReadRu = 1
export const catalogWriteRu = 5
