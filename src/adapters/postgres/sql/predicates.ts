/**
 * Conditions that several statements have in common: who is alive, and where items stand in the change order.
 */

/** The two comparisons of `ttl/living.ts`; `c` is the container's row. */
export function inheritedAfter(moment: string): string {
  return `CASE WHEN c.default_ttl > 0 THEN greatest(c.inherited_dead_at, ${moment} - c.default_ttl) ELSE c.inherited_dead_at END`
}

export function ownAfter(moment: string): string {
  return `CASE WHEN c.default_ttl IS NOT NULL THEN greatest(c.own_dead_at, ${moment}) ELSE c.own_dead_at END`
}

/** The condition on a row of items, given the thresholds. */
export function isAlive(row: string, inherited: string, own: string): string {
  return `CASE WHEN ${row}.deadline IS NULL THEN ${row}.ts > ${inherited} ELSE ${row}.deadline > ${own} END`
}

/**
 * What the index of the change order begins with. An expression, so that nothing else can use that index:
 * over tables that were empty when a statement was planned, finding an item through it would have looked as
 * cheap as finding it by its key.
 */
export function changeOrder(row: string): string {
  return `${row}container::bigint * 64 + ${row}bucket`
}
