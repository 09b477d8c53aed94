/** Announces a text to screen readers: when they are silent, or at once. */

import { signal } from '@preact/signals'

const polite = signal('')
const assertive = signal('')

/** Said when the screen reader is silent: settled previews, finished saves and queries. */
export function announce(text: string): void {
  // The same text twice is two events: a region that does not change is not read.
  polite.value = polite.peek() === text ? `${text}\u00a0` : text
}

/** Said at once: a lost connection, a conflict, a refused save. */
export function announceNow(text: string): void {
  assertive.value = assertive.peek() === text ? `${text}\u00a0` : text
}

export function Announcer() {
  return (
    <>
      <div class="sr" role="status" aria-live="polite">
        {polite}
      </div>
      <div class="sr" role="alert" aria-live="assertive">
        {assertive}
      </div>
    </>
  )
}
