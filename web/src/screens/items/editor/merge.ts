/**
 * Two people changed one item: what each changed, line by line, and the text that has both changes.
 *
 * Texts are compared without the commas at the ends of lines: a new last property gives the line before it a
 * comma, and that is no change of its own. The merged text gets its commas from its structure.
 */

import { commonLines } from './line-diff.ts'

/** `same`, or changed by one of them, or by both in different ways. */
export type LineMark = 'same' | 'theirs' | 'mine' | 'both'

export interface DiffRow {
  mark: LineMark
  /** The line and its number from 1; undefined: there is a gap. */
  theirs?: { number: number; text: string }
  mine?: { number: number; text: string }
}

export interface Merge {
  rows: DiffRow[]
  /** Places that both changed. */
  conflicts: number
  onlyTheirs: number
  onlyMine: number
  /** Theirs, with my changes; mine where both changed the same. Undefined if some of theirs would be lost. */
  merged: string | undefined
  /** The names of what I changed: `qty`, `ttl`. */
  myNames: string[]
}

const withoutComma = (line: string) => line.replace(/,\s*$/, '')

interface Block {
  base: string[]
  theirs: { from: number; lines: string[] }
  mine: { from: number; lines: string[] }
}

/** Cuts three texts at the lines that all of them have. */
function blocksOf(
  base: readonly string[],
  theirs: readonly string[],
  mine: readonly string[],
): { block: Block; isSame: boolean }[] {
  const inTheirs = new Map(commonLines(base, theirs).map(pair => [pair.a, pair.b]))
  const inMine = new Map(commonLines(base, mine).map(pair => [pair.a, pair.b]))
  const blocks: { block: Block; isSame: boolean }[] = []
  let atBase = 0
  let atTheirs = 0
  let atMine = 0
  const cut = (toBase: number, toTheirs: number, toMine: number, isSame: boolean) => {
    if (toBase > atBase || toTheirs > atTheirs || toMine > atMine) {
      blocks.push({
        isSame,
        block: {
          base: base.slice(atBase, toBase),
          theirs: { from: atTheirs, lines: theirs.slice(atTheirs, toTheirs) },
          mine: { from: atMine, lines: mine.slice(atMine, toMine) },
        },
      })
    }
    atBase = toBase
    atTheirs = toTheirs
    atMine = toMine
  }
  for (let line = 0; line < base.length; line++) {
    const their = inTheirs.get(line)
    const my = inMine.get(line)
    if (their === undefined || my === undefined) continue
    cut(line, their, my, false)
    cut(line + 1, their + 1, my + 1, true)
  }
  cut(base.length, theirs.length, mine.length, false)
  return blocks
}

const isEqual = (a: readonly string[], b: readonly string[]) =>
  a.length === b.length && a.every((line, index) => line === b[index])

function markOf({ base, theirs, mine }: Block): LineMark {
  if (isEqual(theirs.lines, mine.lines)) return 'same'
  if (isEqual(base, mine.lines)) return 'theirs'
  return isEqual(base, theirs.lines) ? 'mine' : 'both'
}

/** The name of a property that stands on one line, with its indentation, which tells objects apart. */
function nameOf(line: string): string | undefined {
  return /^\s*"(?:[^"\\]|\\.)*":(?=.*[^[{\s]\s*$)/.exec(line)?.[0]
}

/** The lines by their names; undefined if one has none, or two have the same. */
function byName(lines: readonly string[]): Map<string, number> | undefined {
  const names = lines.map(nameOf)
  const found = new Map(names.map((name, index) => [name ?? '', index]))
  return names.includes(undefined) || found.size < lines.length ? undefined : found
}

/**
 * A place that both changed, as one place for each property: somebody who added a line beside a changed one
 * changed something else. Undefined if the lines are not all properties, or stand in different orders.
 */
function refine({ base, theirs, mine }: Block): Block[] | undefined {
  const names = { base: byName(base), theirs: byName(theirs.lines), mine: byName(mine.lines) }
  if (!names.base || !names.theirs || !names.mine) return undefined
  const { base: inBase, theirs: inTheirs, mine: inMine } = names
  const common = [...inTheirs.keys()].filter(name => inMine.has(name))
  if (
    !isEqual(
      common,
      [...inMine.keys()].filter(name => inTheirs.has(name)),
    )
  )
    return undefined
  // What only one side has stands before the next property that both have, theirs first.
  const order: string[] = []
  let atTheirs = 0
  let atMine = 0
  const their = [...inTheirs.keys()]
  const my = [...inMine.keys()]
  for (const name of [...common, undefined]) {
    while (atTheirs < their.length && their[atTheirs] !== name) order.push(their[atTheirs++]!)
    while (atMine < my.length && my[atMine] !== name) order.push(my[atMine++]!)
    if (name !== undefined) order.push(name)
    atTheirs++
    atMine++
  }
  let theirFrom = theirs.from
  let myFrom = mine.from
  return [...new Set(order)].map((name): Block => {
    const pick = (lines: readonly string[], at: number | undefined) => (at === undefined ? [] : [lines[at]!])
    const block: Block = {
      base: pick(base, inBase.get(name)),
      theirs: { from: theirFrom, lines: pick(theirs.lines, inTheirs.get(name)) },
      mine: { from: myFrom, lines: pick(mine.lines, inMine.get(name)) },
    }
    theirFrom += block.theirs.lines.length
    myFrom += block.mine.lines.length
    return block
  })
}

/** One side can be taken without losing what the other one added beside it. */
function isSettled({ base, theirs, mine }: Block): boolean {
  const isOneLine = theirs.lines.length <= 1 && mine.lines.length <= 1
  return isOneLine || (base.length === theirs.lines.length && base.length === mine.lines.length)
}

/** Side by side; the shorter side gets gaps. */
function rowsOf(
  block: Block,
  mark: LineMark,
  texts: { theirs: readonly string[]; mine: readonly string[] },
): DiffRow[] {
  const { theirs, mine } = block
  const length = Math.max(theirs.lines.length, mine.lines.length)
  return Array.from({ length }, (_, index): DiffRow => {
    const their = theirs.from + index
    const my = mine.from + index
    return {
      mark,
      ...(index < theirs.lines.length && { theirs: { number: their + 1, text: texts.theirs[their]! } }),
      ...(index < mine.lines.length && { mine: { number: my + 1, text: texts.mine[my]! } }),
    }
  })
}

/** Commas after every line that another value follows in the same object or array. */
export function withCommas(lines: readonly string[]): string {
  return lines
    .map((line, index) => {
      const bare = withoutComma(line)
      const next = lines.slice(index + 1).find(each => each.trim() !== '')
      const opens = /[[{]\s*$/.test(bare)
      const closesNext = next === undefined || /^\s*[\]}]/.test(next)
      return bare.trim() === '' || opens || closesNext ? bare : `${bare},`
    })
    .join('\n')
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

/** `base` is what I opened, `theirs` what is stored now, `mine` what I wrote. */
export function mergeTexts(base: string, theirs: string, mine: string): Merge {
  const texts = { base: base.split('\n'), theirs: theirs.split('\n'), mine: mine.split('\n') }
  const blocks = blocksOf(texts.base.map(withoutComma), texts.theirs.map(withoutComma), texts.mine.map(withoutComma))
  const marked = blocks
    .flatMap(({ block, isSame }) => (isSame || markOf(block) !== 'both' ? [block] : (refine(block) ?? [block])))
    .map(block => ({ block, mark: markOf(block) }))
  const lines = marked.flatMap(({ block, mark }) =>
    mark === 'mine' || mark === 'both' ? block.mine.lines : block.theirs.lines,
  )
  const merged = withCommas(lines)
  const canMerge = marked.every(({ block, mark }) => mark !== 'both' || isSettled(block)) && isObject(merged)
  const count = (wanted: LineMark) => marked.filter(({ mark }) => mark === wanted).length
  const names = marked
    .filter(({ mark }) => mark === 'mine' || mark === 'both')
    .flatMap(({ block }) => [...block.mine.lines, ...block.base])
    .flatMap(line => [.../"((?:[^"\\]|\\.)*)"\s*:/g[Symbol.matchAll](line)].map(match => match[1]!))
  return {
    rows: marked.flatMap(({ block, mark }) => rowsOf(block, mark, texts)),
    conflicts: count('both'),
    onlyTheirs: count('theirs'),
    onlyMine: count('mine'),
    merged: canMerge ? merged : undefined,
    myNames: [...new Set(names)],
  }
}
