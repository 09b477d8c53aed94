/** Keeps texts in the browser between visits: the theme, chosen columns, the history of queries. */

/** The stored text; nothing if there is none, or if storage is forbidden. */
export function remembered(name: string): string | null {
  try {
    return localStorage.getItem(name)
  } catch {
    return null
  }
}

/** Keeps a text for the next visit, if storage is allowed and not full. */
export function remember(name: string, value: string | undefined): void {
  try {
    if (value === undefined) localStorage.removeItem(name)
    else localStorage.setItem(name, value)
  } catch {
    // The page works without it.
  }
}
