/** Which entries of the palette a text finds, in which order, and which letters of them match. */

import type { JSX } from 'preact'
import type { IconName } from '../components/icon.tsx'

export type GroupName = 'Go to' | 'Item by id' | 'Do'

export interface PaletteEntry {
  id: string
  group: GroupName
  label: string
  icon: IconName
  detail?: string
  keys?: string
  disabled?: string
  /** Where it goes; or what it does. */
  href?: string
  run?: () => void
  /** At the end of the row. */
  end?: JSX.Element
  /** Breaks ties: what is near comes first. */
  weight: number
}

export interface MarkedPart {
  text: string
  isMatch: boolean
}

export interface MatchedEntry extends PaletteEntry {
  marks: MarkedPart[]
}

export interface PaletteGroup {
  name: GroupName
  entries: MatchedEntry[]
}

const groupNames: readonly GroupName[] = ['Go to', 'Item by id', 'Do']
/** More than fit on the screen are not looked at. */
const perGroupMax = 7

/** The label in parts, with every place where one of the words matches; undefined if a word is nowhere. */
export function markMatches(label: string, text: string): MarkedPart[] | undefined {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean)
  const lower = label.toLowerCase()
  const isMarked = new Array<boolean>(label.length).fill(false)
  for (const word of words) {
    let at = lower.indexOf(word)
    if (at === -1) return undefined
    for (; at !== -1; at = lower.indexOf(word, at + word.length)) isMarked.fill(true, at, at + word.length)
  }
  const parts: MarkedPart[] = []
  for (let at = 0; at < label.length; at++) {
    const last = parts.at(-1)
    if (last && last.isMatch === isMarked[at]) last.text += label[at]
    else parts.push({ text: label[at]!, isMatch: isMarked[at]! })
  }
  return parts
}

/** A label that begins with the text comes first, then one with a word that does. */
function rank(label: string, text: string): number {
  const lower = label.toLowerCase()
  const wanted = text.trim().toLowerCase()
  if (wanted === '') return 0
  if (lower.startsWith(wanted)) return 20
  return new RegExp(`\\b${wanted.replace(/[^\w ]/g, '\\$&')}`).test(lower) ? 10 : 0
}

/** The matching entries by group; what the server found is there whatever its label is. */
export function matchPalette(
  known: readonly PaletteEntry[],
  text: string,
  found: readonly PaletteEntry[],
): PaletteGroup[] {
  const matched = known.flatMap((entry): MatchedEntry[] => {
    const marks =
      markMatches(entry.label, text) ??
      (entry.detail && markMatches(`${entry.label} ${entry.detail}`, text)
        ? [{ text: entry.label, isMatch: false }]
        : undefined)
    return marks ? [{ ...entry, marks }] : []
  })
  const byRank = matched.toSorted((a, b) => rank(b.label, text) + b.weight - rank(a.label, text) - a.weight)
  const all = [...byRank, ...found.map(entry => ({ ...entry, marks: [{ text: entry.label, isMatch: false }] }))]
  return groupNames
    .map(name => ({ name, entries: all.filter(entry => entry.group === name).slice(0, perGroupMax) }))
    .filter(({ entries }) => entries.length > 0)
}
