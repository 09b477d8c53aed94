/** Times and durations as the page writes them, and as people type them. */

import { count } from '../text/number-text.ts'

const secondS = 1
const minuteS = 60
const hourS = 3600
const dayS = 86_400

const twoDigits = (n: number) => String(n).padStart(2, '0')

/** What is left, for a countdown: `2.2 s`, `29 s`, `1 m 32 s`, `14 h 22 m`, `6 d 03 h`. */
export function leftText(leftMs: number): string {
  if (leftMs <= 0) return '0 s'
  if (leftMs < 10_000) return `${(Math.ceil(leftMs / 100) / 10).toFixed(1)} s`
  return durationText(Math.ceil(leftMs / 1000))
}

/** A duration in whole seconds, in at most two units: `90` is `1 m 30 s`. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds)
  if (whole < minuteS) return `${whole} s`
  if (whole < hourS) return `${Math.floor(whole / minuteS)} m ${twoDigits(whole % minuteS)} s`
  if (whole < dayS) return `${Math.floor(whole / hourS)} h ${twoDigits(Math.floor((whole % hourS) / minuteS))} m`
  return `${count(Math.floor(whole / dayS))} d ${twoDigits(Math.floor((whole % dayS) / hourS))} h`
}

/** The same, without a second unit that is zero: `3600` is `1 h`, `90` is `1 m 30 s`. For settings. */
export function spanText(seconds: number): string {
  const units = [
    { letter: 'd', s: dayS },
    { letter: 'h', s: hourS },
    { letter: 'm', s: minuteS },
    { letter: 's', s: secondS },
  ]
  const whole = units.find(({ s }) => seconds >= s && seconds % s === 0)
  return whole ? `${count(seconds / whole.s)} ${whole.letter}` : durationText(seconds)
}

/** About how long, in words: `in 12 min`, `48 min`. */
export function aboutText(seconds: number): string {
  if (seconds < minuteS) return `${Math.max(0, Math.round(seconds))} s`
  if (seconds < hourS) return `${Math.round(seconds / minuteS)} min`
  if (seconds < dayS) return durationText(seconds)
  return `${count(Math.round(seconds / dayS))} d`
}

/** How long ago: `just now`, `3 s ago`, `4 m ago`, `3 d ago`. */
export function agoText(seconds: number): string {
  if (seconds < 1) return 'just now'
  if (seconds < minuteS) return `${Math.floor(seconds)} s ago`
  if (seconds < hourS) return `${Math.floor(seconds / minuteS)} m ago`
  if (seconds < dayS) return `${Math.floor(seconds / hourS)} h ago`
  return `${count(Math.floor(seconds / dayS))} d ago`
}

const unitSeconds: Readonly<Record<string, number>> = {
  s: 1,
  sec: 1,
  second: 1,
  seconds: 1,
  m: minuteS,
  min: minuteS,
  minute: minuteS,
  minutes: minuteS,
  h: hourS,
  hour: hourS,
  hours: hourS,
  d: dayS,
  day: dayS,
  days: dayS,
  w: 7 * dayS,
  week: 7 * dayS,
  weeks: 7 * dayS,
  y: 365 * dayS,
  year: 365 * dayS,
  years: 365 * dayS,
}

/** The seconds that a person wrote: `90`, `15 m`, `7d`, `1 h 30 m`; undefined if they are no whole number. */
export function parseSpan(text: string): number | undefined {
  const trimmed = text.trim().toLowerCase()
  if (/^\d+$/.test(trimmed)) return Number(trimmed)
  if (!/^(\d+(\.\d+)?\s*[a-z]+\s*)+$/.test(trimmed)) return undefined
  let total = 0
  for (const [, number, unit] of trimmed.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/g)) {
    const seconds = unitSeconds[unit!]
    if (seconds === undefined) return undefined
    total += Number(number) * seconds
  }
  const rounded = Math.round(total)
  return Math.abs(total - rounded) < 1e-9 ? rounded : undefined
}

export type Zone = 'UTC' | 'local'

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']
const days = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** The parts of a time in one of the two zones; JavaScript has a method for each part and zone. */
function partsOf(ms: number, zone: Zone) {
  const date = new Date(ms)
  return zone === 'UTC'
    ? {
        year: date.getUTCFullYear(),
        month: date.getUTCMonth(),
        day: date.getUTCDate(),
        weekday: date.getUTCDay(),
        hour: date.getUTCHours(),
        minute: date.getUTCMinutes(),
        second: date.getUTCSeconds(),
      }
    : {
        year: date.getFullYear(),
        month: date.getMonth(),
        day: date.getDate(),
        weekday: date.getDay(),
        hour: date.getHours(),
        minute: date.getMinutes(),
        second: date.getSeconds(),
      }
}

/** `13:51:20`. */
export function timeOfDay(ms: number, zone: Zone): string {
  const { hour, minute, second } = partsOf(ms, zone)
  return `${twoDigits(hour)}:${twoDigits(minute)}:${twoDigits(second)}`
}

/** `15 Nov`, with the year if it is another one than now. */
export function dayText(ms: number, nowMs: number, zone: Zone): string {
  const { year, month, day } = partsOf(ms, zone)
  const text = `${day} ${months[month]}`
  return year === partsOf(nowMs, zone).year ? text : `${text} ${year}`
}

function isSameDay(one: number, other: number, zone: Zone): boolean {
  const a = partsOf(one, zone)
  const b = partsOf(other, zone)
  return a.year === b.year && a.month === b.month && a.day === b.day
}

/** `13:51:20` today, `16 Oct` on another day: for narrow columns. */
export function shortTime(ms: number, nowMs: number, zone: Zone): string {
  return isSameDay(ms, nowMs, zone) ? timeOfDay(ms, zone) : dayText(ms, nowMs, zone)
}

/** `13:51:20` today, `16 Oct, 13:51:20` on another day: for sentences. */
export function fullTime(ms: number, nowMs: number, zone: Zone): string {
  const time = timeOfDay(ms, zone)
  return isSameDay(ms, nowMs, zone) ? time : `${dayText(ms, nowMs, zone)}, ${time}`
}

/** `Sun 15 Nov 2026, 13:51:20`. */
export function longTime(ms: number, zone: Zone): string {
  const { year, month, day, weekday } = partsOf(ms, zone)
  return `${days[weekday]} ${day} ${months[month]} ${year}, ${timeOfDay(ms, zone)}`
}
