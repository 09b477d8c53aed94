/** What a new time to live would do: the sentence, the bar, four numbers, and the warning. */

import type { JSX } from 'preact'
import type { Preview } from '../../api/container-shapes.ts'
import type { Api } from '../../api/shapes.ts'
import { Icon } from '../../components/icon.tsx'
import { count } from '../../text/number-text.ts'
import { goneSentence, laterOf, plainText, previewSentence, type SentencePart } from './ttl-preview.ts'

const toneClass = { danger: 'danger', life: 'life', never: 'never', plain: 't1', quiet: '' } as const

export function Sentence({ parts }: { parts: readonly SentencePart[] }): JSX.Element {
  return (
    <>
      {parts.map(({ text, tone }, index) =>
        tone === 'quiet' ? (
          text
        ) : (
          <b key={index} class={toneClass[tone]}>
            {text}
          </b>
        ),
      )}
    </>
  )
}

interface PreviewCardProps {
  preview: Preview | undefined
  api: Api
  isChanged: boolean
  /** The numbers are about the value before: they are shown at half strength. */
  isCounting: boolean
  /** Said about a change to Off. */
  note?: string | undefined
  /** Shows who would die now, where a query can tell. */
  showDying?: (() => void) | undefined
}

export function PreviewCard({ preview, api, isChanged, isCounting, note, showDying }: PreviewCardProps): JSX.Element {
  if (!preview) {
    return (
      <section class="preview is-counting" aria-label="What would happen">
        <p class="say">Counting…</p>
      </section>
    )
  }
  const parts = previewSentence(preview, api, isChanged)
  const { now, within1h, never } = preview
  const numbers = [
    { label: 'Now', n: now, look: 'now' },
    { label: 'Within the hour', n: within1h, look: 'hour' },
    { label: 'Later', n: laterOf(preview), look: 'later' },
    { label: 'Never', n: never, look: 'never' },
  ]
  const isAnybody = numbers.some(({ n }) => n > 0)
  return (
    <section
      class={isCounting ? 'preview is-counting' : 'preview'}
      aria-label="What would happen"
      aria-busy={isCounting}
    >
      <p class="say">
        <Sentence parts={parts} />
        {isCounting && <span class="t3 fs12"> Counting…</span>}
      </p>
      {isAnybody && (
        <div class="pbar" role="img" aria-label={plainText(parts)}>
          {numbers.map(({ n, look }) => n > 0 && <i key={look} class={`p-${look}`} style={{ flexGrow: n }} />)}
        </div>
      )}
      <dl class="pleg">
        {numbers.map(({ label, n, look }) => (
          <div key={look}>
            <dt>
              <i class={`sw p-${look}`} aria-hidden="true" />
              {label}
            </dt>
            <dd>{count(n)}</dd>
          </div>
        ))}
      </dl>
      {note && <p class="preview-note t2">{note}</p>}
      {isChanged && now > 0 && (
        <div class="warn">
          <Icon name="warning" />
          <span class="grow">
            <b class="b">{goneSentence(preview, api)}</b>{' '}
            <span class="t2">They stay gone, whatever you set later.</span>
          </span>
          {showDying && (
            <button type="button" class="btn sm" onClick={showDying}>
              Show these items
            </button>
          )}
        </div>
      )}
    </section>
  )
}
