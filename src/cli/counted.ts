/** A number with its noun, in the singular or the plural: `1 item`, `2 items`. */
export function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`
}
