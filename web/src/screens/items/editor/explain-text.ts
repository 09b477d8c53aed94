/** Why and when an item dies, in one sentence: the first part is bold. */

import type { Api, Container, Explanation, Item } from '../../../api/shapes.ts'
import { aboutText, fullTime, spanText, type Zone } from '../../../time/time-text.ts'

export interface ExplainSentence {
  lead: string
  rest: string
}

type Explained = Pick<Item, 'ttl' | 'rule' | 'ts' | 'deadline' | 'isDead'> & {
  /** The server has it no more. */
  isGone?: boolean
}

interface When {
  nowMs: number
  zone: Zone
}

const written = (api: Api) => (api === 'mongo' ? 'last modified' : 'last written')
const place = (api: Api) => (api === 'mongo' ? 'collection' : 'container')
const item = (api: Api) => (api === 'mongo' ? 'document' : 'item')

/** `its own ttl is 60 s and it was last written at 13:50:49` */
function reasonOf(
  explained: Explained,
  container: Pick<Container, 'api' | 'defaultTtl' | 'ttl'>,
  { nowMs, zone }: When,
): string | undefined {
  const { ttl, ts, rule } = explained
  const { api, defaultTtl } = container
  if (rule === 'own' && container.ttl.kind === 'date') return 'a date in it says so, by a TTL index.'
  const since = `was ${written(api)} at ${fullTime(ts * 1000, nowMs, zone)}`
  if (rule === 'own' && ttl !== null) return `its own ttl is ${ttl} s and it ${since}.`
  if (rule === 'inherited' && defaultTtl !== null)
    return `it inherits ${defaultTtl} s from the ${place(api)} and ${since}.`
  return undefined
}

/** `explanation` is the server's own sentence, for what no rule here has words for. */
export function explainSentence(
  explained: Explained,
  container: Pick<Container, 'api' | 'defaultTtl' | 'ttl'>,
  explanation: Pick<Explanation, 'explanation'> | undefined,
  when: When,
): ExplainSentence {
  const { ttl, rule, deadline } = explained
  const { api, defaultTtl } = container
  const { nowMs, zone } = when
  if (rule === 'final') {
    return {
      lead: 'Died under an earlier setting.',
      rest: 'Death is final: a later setting does not bring it back.',
    }
  }
  if (rule === 'off') {
    return { lead: 'Never dies:', rest: `Time to Live is Off, so a ttl in the ${item(api)} is only data.` }
  }
  if (deadline === null) {
    return {
      lead: 'Never dies:',
      rest:
        container.ttl.kind === 'date'
          ? 'it has no date in a field with a TTL index.'
          : ttl === -1
            ? 'its own ttl is -1.'
            : `it has no ttl and the ${place(api)} has no default.`,
    }
  }
  const reason = reasonOf(explained, container, when) ?? explanation?.explanation ?? ''
  const at = fullTime(deadline * 1000, nowMs, zone)
  const leftS = deadline - nowMs / 1000
  if (explained.isDead || leftS <= 0) {
    const fate = explained.isGone ? 'It is removed.' : 'It waits to be removed; nobody sees it.'
    return { lead: `Died at ${at}:`, rest: `${reason} ${fate}` }
  }
  const without =
    api === 'mongo' &&
    rule === 'own' &&
    container.ttl.kind !== 'date' &&
    ttl !== null &&
    defaultTtl !== null &&
    defaultTtl > 0
      ? ` Without it, it would inherit ${spanText(defaultTtl)}.`
      : ''
  return { lead: `Alive. Dies at ${at} (in ${aboutText(Math.ceil(leftS))}):`, rest: `${reason}${without}` }
}

export const unknownSentence: ExplainSentence = {
  lead: 'There is no such item:',
  rest: 'it was never written, was deleted, or has died and been removed.',
}

/** Of an item whose time had not come. */
export const deletedSentence = (api: Api): ExplainSentence => ({
  lead: `This ${item(api)} is gone:`,
  rest: 'somebody has deleted it.',
})

/** What saving does to the life: writing sets the time from which a ttl counts. */
export function savingText(
  ttl: number | undefined,
  container: Pick<Container, 'defaultTtl' | 'ttl'>,
  when: When,
): ExplainSentence | undefined {
  const { defaultTtl } = container
  if (defaultTtl === null || container.ttl.kind === 'date') return undefined
  const seconds = ttl ?? (defaultTtl > 0 ? defaultTtl : -1)
  if (seconds === -1) return { lead: 'never dies', rest: 'Saved like this, it' }
  const end = fullTime(when.nowMs + seconds * 1000, when.nowMs, when.zone)
  const rest =
    ttl === undefined && defaultTtl === 3600
      ? 'Saving starts its hour again:'
      : `Saving starts its ${spanText(seconds)} again:`
  return { lead: `dies ${end}`, rest }
}
