/** The keys inside the grid: one stop for Tab, arrows and J K move, Enter opens, X selects, W explains. */

import type { ListedItem } from '../../api/shapes.ts'
import { hasSingleLetters } from '../../navigation/keyboard.ts'

export interface GridMoves {
  rows: readonly ListedItem[]
  startIndex: number
  focusKey: string | undefined
  pageRows: number
  focusRow: (key: string) => void
  reveal: (index: number) => void
  open: (item: ListedItem, isWide: boolean) => void
  select: (item: ListedItem, isRange: boolean) => void
  explain: (item: ListedItem) => void
}

/** How many rows a key moves; undefined for other keys. */
export function stepOf(key: string, pageRows: number, hasLetters: boolean): number | undefined {
  const steps: Readonly<Record<string, number>> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: pageRows,
    PageUp: -pageRows,
    Home: Number.NEGATIVE_INFINITY,
    End: Number.POSITIVE_INFINITY,
    ...(hasLetters && { j: 1, k: -1 }),
  }
  return steps[key]
}

export function moveInGrid(event: KeyboardEvent, moves: GridMoves): void {
  const { rows, focusKey } = moves
  if (event.ctrlKey || event.metaKey || event.altKey || rows.length === 0) return
  const at = rows.findIndex(({ key }) => key === focusKey)
  const item = rows[at]
  const step = stepOf(event.key, moves.pageRows, hasSingleLetters.peek())
  if (step !== undefined) {
    const to = Math.max(0, Math.min(rows.length - 1, at + step))
    moves.reveal(moves.startIndex + to)
    moves.focusRow(rows[to]!.key)
  } else if (!item) return
  else if (event.key === 'Enter') moves.open(item, event.shiftKey)
  else if (event.key === ' ' || (event.key === 'x' && hasSingleLetters.peek())) moves.select(item, event.shiftKey)
  else if (event.key === 'w' && hasSingleLetters.peek()) moves.explain(item)
  else return
  event.preventDefault()
  event.stopPropagation()
}
