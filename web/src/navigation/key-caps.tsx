/** The keys of a shortcut, printed. */

import { keyNames } from './keyboard.ts'

export function KeyCaps({ keys }: { keys: string }) {
  return (
    <span class="caps">
      {keyNames(keys).map(name => (
        <kbd key={name}>{name}</kbd>
      ))}
    </span>
  )
}

/** As one text, for buttons: `⌘S`, `Ctrl+S`. */
export function keyText(keys: string): string {
  const names = keyNames(keys)
  return names.join(names.some(name => name.length > 1) ? '+' : '')
}
