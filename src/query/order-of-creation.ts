/** Puts the rows of one page into the order in which their items were created. */

/** Rows of one item stay in their order. */
export function inOrderOfCreation<Row>(rows: readonly Row[], sequences: readonly number[]): readonly Row[] {
  if (sequences.every((sequence, at) => at === 0 || sequences[at - 1]! <= sequence)) return rows
  const places = sequences.map((_, at) => at).sort((a, b) => sequences[a]! - sequences[b]!)
  return places.map(at => rows[at]!)
}
