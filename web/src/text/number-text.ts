/** Counts, sizes and charges as the page writes them. */

const grouped = new Intl.NumberFormat('en-US')

/** `18,204`. */
export function count(n: number): string {
  return grouped.format(n)
}

/** From one million on in short: `1.0 M`. The full number belongs into the title. */
export function shortCount(n: number): string {
  if (n < 1_000_000) return count(n)
  return n < 1_000_000_000 ? `${(n / 1_000_000).toFixed(1)} M` : `${(n / 1_000_000_000).toFixed(1)} G`
}

/** `1 item`, `18,204 items`. */
export function counted(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`
}

/** `271 B`, `1.1 KB`, `4.1 MB`. */
export function bytesText(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  const units = ['KB', 'MB', 'GB', 'TB']
  let value = bytes / 1000
  let unit = 0
  while (value >= 999.95 && unit < units.length - 1) {
    value /= 1000
    unit++
  }
  return `${value < 99.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`
}

/** Request units: `2.12`, `130`, `0`. */
export function ruText(ru: number): string {
  if (ru === 0) return '0'
  return ru < 100 ? String(Number(ru.toFixed(2))) : count(Math.round(ru))
}
