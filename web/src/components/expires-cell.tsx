/**
 * The cell that says when something dies: a number, and a bar for the share of its lifespan that is left.
 * There is no bar if the start of the lifespan is not known.
 */

import { isTimeKnown } from '../time/clock.ts'
import { type LifeTimes, lifeText, shareLeft, type Urgency } from './life.ts'

/** In the place of the time of a death under an earlier setting, which nobody knows. */
const unknownDeath = '–'

interface ExpiresProps {
  life: LifeTimes
  nowMs: number
  urgency: Urgency
  /** For people who listen: `own ttl 60`. */
  source: string
  role?: 'gridcell'
}

/** `expires in 29 seconds, own ttl 60`. */
function label(text: string, urgency: Urgency, source: string): string {
  if (text === unknownDeath) return 'died under an earlier setting'
  const when = urgency === 'never' ? 'never expires' : urgency === 'dead' ? `died ${text}` : `expires in ${text}`
  return source ? `${when}, ${source}` : when
}

export function ExpiresCell({ life, nowMs, urgency, source, role }: ExpiresProps) {
  const { ts, deadline } = life
  const text = urgency === 'dead' && deadline === null ? unknownDeath : lifeText(life, nowMs)
  return (
    // biome-ignore lint/a11y/useAriaPropsSupportedByRole: the label is there only with the role of a cell.
    <span
      class={isTimeKnown.value ? 'c-exp' : 'c-exp unknown'}
      role={role}
      aria-label={role && label(text, urgency, source)}
    >
      <span class="num">{text}</span>
      {text !== unknownDeath && (ts !== null || deadline === null) && (
        <span class="lb" aria-hidden="true" style={{ '--v': shareLeft({ ts: ts ?? 0, deadline }, nowMs).toFixed(1) }} />
      )}
    </span>
  )
}
