/** Time zones: fixed offsets from UTC, and the named zones of the IANA database. */

import { daysFromCivil } from '../../../base/calendar.ts'
import { spend } from '../../../base/work.ts'
import { refuse } from '../core/define-operator.ts'
import { msPerDay } from './days-and-weeks.ts'

export interface TimeZone {
  readonly isUtc: boolean
  /** Whether the offset is always the same. */
  readonly isFixed: boolean
  /** How far local time is ahead of UTC at a moment, in milliseconds. */
  offsetMs(utcMs: bigint): number
}

function fixed(ms: number): TimeZone {
  return { isUtc: ms === 0, isFixed: true, offsetMs: () => ms }
}

export const utc = fixed(0)

const offsetPattern = /^([+-])(\d\d)(?::?(\d\d))?$/

export function offsetOf(text: string): number | undefined {
  const match = offsetPattern.exec(text)
  if (match === null) return undefined
  const [, sign, hours, minutes = '0'] = match
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000
}

/** The range of JavaScript dates. Beyond it, offsets do not change. */
const jsDateMsMax = 8_640_000_000_000_000n

/** Limits the cache: a client can write each name in many ways. */
const zonesMax = 64
/** Days per zone whose offsets are cached. */
const daysMax = 4096

/** Making a zone takes up to half a millisecond, asking it for an offset 15 us. */
const zoneSteps = 20_000
const offsetSteps = 700

const zones = new Map<string, TimeZone>()

export function timeZoneNamed(name: string): TimeZone {
  const known = zones.get(name)
  if (known !== undefined) return known
  const zone = findZone(name) ?? refuse(40485, `unrecognized time zone identifier: "${name}"`)
  if (zones.size >= zonesMax) zones.clear()
  zones.set(name, zone)
  return zone
}

function findZone(name: string): TimeZone | undefined {
  const offset = offsetOf(name)
  if (offset !== undefined) return fixed(offset)
  if (name === 'UTC' || name === 'GMT') return utc
  // Intl accepts more notations of offsets than MongoDB does.
  if (!/^[A-Za-z]/.test(name)) return undefined
  spend(zoneSteps)
  try {
    return olsonZone(name)
  } catch {
    return undefined
  }
}

function olsonZone(name: string): TimeZone {
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: name,
    calendar: 'gregory',
    hourCycle: 'h23',
    era: 'short',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const offsetAt = (utcMs: number): number => {
    spend(offsetSteps)
    // Whole seconds, because the formatted parts have no fraction.
    const epochMs = Math.floor(utcMs / 1000) * 1000
    const parts: Record<string, string> = {}
    for (const { type, value } of format.formatToParts(epochMs)) parts[type] = value
    const year = parts.era === 'BC' ? 1 - Number(parts.year) : Number(parts.year)
    const days = daysFromCivil(year, Number(parts.month), Number(parts.day))
    const seconds = Number(parts.hour) * 3600 + Number(parts.minute) * 60 + Number(parts.second)
    return days * msPerDay + seconds * 1000 - epochMs
  }
  const known = new Map<number, number>()
  return {
    isUtc: false,
    isFixed: false,
    offsetMs(utcMs) {
      const clamped = utcMs > jsDateMsMax ? jsDateMsMax : utcMs < -jsDateMsMax ? -jsDateMsMax : utcMs
      const epochMs = Number(clamped)
      const day = Math.floor(epochMs / msPerDay)
      const remembered = known.get(day)
      if (remembered !== undefined) return remembered
      const offset = offsetAt(epochMs)
      // Asking Intl costs 15 us. On most days the offset does not change, and most dates fall on few days.
      const [morning, evening] = [day * msPerDay, (day + 1) * msPerDay]
      const isWithin = morning > -Number(jsDateMsMax) && evening < Number(jsDateMsMax)
      if (isWithin && offsetAt(morning) === offset && offsetAt(evening) === offset) {
        if (known.size >= daysMax) known.clear()
        known.set(day, offset)
      }
      return offset
    },
  }
}

/** Local time of the zone, encoded as if it were UTC. */
export function localMsOf(utcMs: bigint, zone: TimeZone): bigint {
  return zone.isUtc ? utcMs : utcMs + BigInt(zone.offsetMs(utcMs))
}

/**
 * The moment of a local time. For times that clocks show twice or skip, the choice is that of timelib, which
 * MongoDB uses: a skipped time moves forward by the length of the gap.
 */
export function utcMsOf(localMs: bigint, zone: TimeZone): bigint {
  const guessed = zone.offsetMs(localMs)
  if (zone.isFixed) return localMs - BigInt(guessed)
  const sampled = localMs - BigInt(guessed)
  const actual = zone.offsetMs(sampled)
  if (actual === guessed) return sampled
  const moment = localMs - BigInt(actual)
  const isBeforeChange = moment < sampled && zone.offsetMs(moment) !== actual
  return isBeforeChange ? sampled : moment
}
