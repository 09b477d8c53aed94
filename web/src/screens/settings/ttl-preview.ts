/** The sentence about the effect of a new time to live, and the words around it. */

import type { Preview } from '../../api/container-shapes.ts'
import type { Api, Ttl } from '../../api/shapes.ts'
import { count, counted } from '../../text/number-text.ts'
import { spanText } from '../../time/time-text.ts'

export interface SentencePart {
  readonly text: string
  readonly tone: 'danger' | 'life' | 'never' | 'plain' | 'quiet'
}

/** `later` of the sentence is everything after the hour. */
export function laterOf({ within24h, later }: Preview): number {
  return within24h + later
}

/** "If you save this, 1,204 items die now, 310 within the hour, 15,002 later, 88 never." */
export function previewSentence(preview: Preview, api: Api, isChanged: boolean): SentencePart[] {
  const { now, within1h, never, isAbout } = preview
  const word = api === 'mongo' ? 'document' : 'item'
  const about = isAbout ? 'about ' : ''
  const died = `${about}${counted(now, word)} ${now === 1 ? 'dies' : 'die'} now`
  const first: SentencePart =
    now > 0
      ? { text: died, tone: 'danger' }
      : { text: isChanged ? 'nothing dies now' : `0 ${word}s die now`, tone: 'plain' }
  return [
    { text: isChanged ? 'If you save this, ' : 'With this setting ', tone: 'quiet' },
    first,
    { text: ', ', tone: 'quiet' },
    { text: `${about}${count(within1h)} within the hour`, tone: 'life' },
    { text: ', ', tone: 'quiet' },
    { text: `${about}${count(laterOf(preview))} later`, tone: 'plain' },
    { text: ', ', tone: 'quiet' },
    { text: `${about}${count(never)} never`, tone: 'never' },
    { text: '.', tone: 'quiet' },
    ...(isChanged ? [] : [{ text: ' No change.', tone: 'quiet' } as const]),
  ]
}

export function plainText(parts: readonly SentencePart[]): string {
  return parts.map(({ text }) => text).join('')
}

export function goneSentence({ now, isAbout }: Preview, api: Api): string {
  const word = api === 'mongo' ? 'document' : 'item'
  const subject = `${isAbout ? 'About ' : ''}${counted(now, word)} ${now === 1 ? 'is' : 'are'}`
  return `${subject} gone from every read the moment you save.`
}

export function saveLabel(preview: Preview | undefined): string {
  if (!preview || preview.now === 0) return 'Save'
  return `Save, ${preview.isAbout ? 'about ' : ''}${count(preview.now)} ${preview.now === 1 ? 'dies' : 'die'} now`
}

/** `Off`, `On (no default)`, `On, 1 h`. */
export function ttlName(ttl: Ttl): string {
  if (ttl.kind === 'on') return `On, ${spanText(ttl.seconds)}`
  return { off: 'Off', 'no default': 'On (no default)', date: 'date index' }[ttl.kind]
}

/** How an item without a ttl, with -1, and with a number ends under a default ttl. */
export function ends(defaultTtl: number | null): { none: string; never: string; own: string } {
  const none =
    defaultTtl !== null && defaultTtl > 0 ? `dies ${spanText(defaultTtl)} after its last write` : 'never dies'
  return { none, never: 'never dies', own: defaultTtl === null ? 'never dies' : 'dies n s after its last write' }
}
