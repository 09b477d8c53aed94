/**
 * Which rows of a long list are in view, and where they lie: rows of one height, of any number.
 *
 * Browsers cannot make a page of 30 million pixels reliably. From `heightMax` on the scroll bar is shorter
 * than the list: small steps move by pixels, large ones (the bar is dragged) go to the same share of it.
 */

/** Firefox ends at 17.8 million pixels, Chrome at 33.5 million. */
const heightMax = 8_000_000
/** Rows beside those in view, so that a fast wheel finds them painted. */
const spareRows = 10

export interface Extent {
  total: number
  rowHeight: number
  viewHeight: number
}

export interface ScrollPlace {
  /** Of the scroll bar, in pixels. */
  scrollTop: number
  /** Of the list, in pixels; the same as scrollTop in a short list. */
  listTop: number
}

export function scrollHeight({ total, rowHeight }: Extent): number {
  return Math.min(total * rowHeight, heightMax)
}

/** Where the list is after the scroll bar has moved to `scrollTop`. */
export function moveTo(extent: Extent, before: ScrollPlace, scrollTop: number): ScrollPlace {
  const { total, rowHeight, viewHeight } = extent
  const listMax = Math.max(0, total * rowHeight - viewHeight)
  const barMax = Math.max(0, scrollHeight(extent) - viewHeight)
  if (listMax <= barMax) return { scrollTop, listTop: Math.min(scrollTop, listMax) }
  if (scrollTop <= 0) return { scrollTop, listTop: 0 }
  if (scrollTop >= barMax) return { scrollTop, listTop: listMax }
  const step = scrollTop - before.scrollTop
  const isSmall = Math.abs(step) <= 2 * viewHeight
  const listTop = isSmall ? before.listTop + step : (scrollTop / barMax) * listMax
  return { scrollTop, listTop: Math.max(0, Math.min(listMax, listTop)) }
}

/** The first row to paint, the one after the last, and the first that is in view. */
export function rowsInView({ total, rowHeight, viewHeight }: Extent, { listTop }: ScrollPlace) {
  const top = Math.max(0, Math.min(total, Math.floor(listTop / rowHeight)))
  const bottom = Math.min(total, Math.ceil((listTop + viewHeight) / rowHeight))
  return { first: Math.max(0, top - spareRows), end: Math.min(total, bottom + spareRows), top, bottom }
}

/** How far down a row lies within what is scrolled. */
export function rowOffset(index: number, rowHeight: number, { scrollTop, listTop }: ScrollPlace): number {
  return index * rowHeight - (listTop - scrollTop)
}

/** The place that shows a row with the least movement. */
export function revealRow(extent: Extent, place: ScrollPlace, index: number): ScrollPlace {
  const { rowHeight, viewHeight } = extent
  const top = index * rowHeight
  const listTop =
    top < place.listTop
      ? top
      : top + rowHeight > place.listTop + viewHeight
        ? top + rowHeight - viewHeight
        : place.listTop
  if (listTop === place.listTop) return place
  return moveTo(extent, place, place.scrollTop + (listTop - place.listTop))
}
