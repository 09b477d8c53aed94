/** Times and durations in the words that the command and the reports print. */

/** `29 s`, `1 m 32 s`, `14 h 22 m`, `6 d 03 h`. */
export function durationText(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, '0')
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} m ${two(seconds % 60)} s`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h ${two(Math.floor((seconds % 3600) / 60))} m`
  return `${Math.floor(seconds / 86_400)} d ${two(Math.floor((seconds % 86_400) / 3600))} h`
}

/** `2026-11-19T14:46:07Z, in 3 h 00 m`, as seen from the second `now`. */
export function timeText(second: number, now: number): string {
  const seconds = Math.round(second - now)
  const distance = durationText(Math.abs(seconds))
  return `${isoTime(second)}, ${seconds > 0 ? `in ${distance}` : seconds < 0 ? `${distance} ago` : 'now'}`
}

export function isoTime(second: number): string {
  const date = new Date(Math.round(second * 1000))
  return Number.isNaN(date.getTime()) ? String(second) : date.toISOString().replace('.000Z', 'Z')
}
