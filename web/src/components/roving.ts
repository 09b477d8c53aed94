/** One stop for the Tab key in a group of controls, and arrows inside it. */

/**
 * Moves the focus among the elements of the group that the selector names, with the arrows, Home and End.
 * `axis` says which arrows move.
 */
export function moveFocus(event: KeyboardEvent, selector: string, axis: 'row' | 'column' = 'row'): void {
  const group = event.currentTarget as HTMLElement
  const all = [...group.querySelectorAll<HTMLElement>(selector)]
  const at = all.findIndex(each => each === document.activeElement || each.contains(document.activeElement))
  const [back, forth] = axis === 'row' ? ['ArrowLeft', 'ArrowRight'] : ['ArrowUp', 'ArrowDown']
  const last = all.length - 1
  const target =
    event.key === back
      ? Math.max(0, at - 1)
      : event.key === forth
        ? Math.min(last, at + 1)
        : event.key === 'Home'
          ? 0
          : event.key === 'End'
            ? last
            : undefined
  if (target === undefined || all.length === 0) return
  event.preventDefault()
  all[target]?.focus()
}
