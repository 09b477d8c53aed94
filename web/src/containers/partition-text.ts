/** A partition key as somebody types it. */

/** The values, one for each level: of `u171`, `"u171"`, `["acme", 7]`. */
export function readPartition(text: string): unknown[] | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  try {
    const value: unknown = JSON.parse(trimmed)
    return Array.isArray(value) ? value : [value]
  } catch {
    return [trimmed]
  }
}
