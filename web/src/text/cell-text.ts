/** A value in a cell of a table: short, on one line; undefined where the item has none. */
export function cellText(value: unknown): string | undefined {
  if (value === undefined) return undefined
  if (typeof value === 'string') return value
  if (typeof value === 'object' && value !== null) {
    if ('$cut' in value) return `${value.$cut}…`
    const [name, only] = Object.entries(value)[0] ?? []
    // Types of BSON: the type is in the editor, the value is enough here.
    if (name?.startsWith('$') && Object.keys(value).length === 1 && typeof only !== 'object') return String(only)
  }
  return JSON.stringify(value)
}
