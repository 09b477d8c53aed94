/** Throughput: a fixed number of RU/s, or one that follows the load up to a maximum. */

import { useState } from 'preact/hooks'
import { putSettings } from '../../api/container-calls.ts'
import { announce } from '../../components/announce.tsx'
import { Field } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { mayWrite, session } from '../../live/store.ts'
import { count } from '../../live/time-text.ts'
import { Frame } from './frame.tsx'
import type { PartProps } from './part.ts'
import { RadioCards } from './radio-cards.tsx'
import { SaveBar } from './save-bar.tsx'
import { readThroughput, type ThroughputKind, throughputLimits } from './throughput-form.ts'

export function ThroughputPart({ name, container, settings, onSettings }: PartProps) {
  const now = settings.throughput
  const isShared = now === null || now.isShared === true
  const first = () => ({
    kind: (now?.kind ?? 'manual') as ThroughputKind,
    text: String(now?.kind === 'autoscale' ? now.maxRuPerSecond : (now?.ruPerSecond ?? 400)),
  })
  const [draft, setDraft] = useState(first)
  const [isSaving, setSaving] = useState(false)
  const [note, setNote] = useState<string | undefined>()
  const [error, setError] = useState<unknown>()
  const { throughput, problem } = readThroughput(draft.kind, draft.text)
  const isDirty = draft.kind !== first().kind || draft.text !== first().text
  const limits = throughputLimits[draft.kind]
  const change = (next: Partial<typeof draft>) => {
    setDraft({ ...draft, ...next })
    setNote(undefined)
    setError(undefined)
  }
  const save = async () => {
    if (!throughput || !isDirty || isSaving || !mayWrite.value) return
    setSaving(true)
    try {
      onSettings(await putSettings(name, { throughput }))
      setNote('Saved.')
      announce('Saved.')
    } catch (thrown) {
      setError(thrown)
    }
    setSaving(false)
  }
  const lead = (
    <>
      Request units a second that {container.id} has. Every read, write and query costs some of them; the purge gets
      what is left over.
    </>
  )
  if (isShared) {
    return (
      <Frame title="Throughput" lead={lead}>
        <p class="note plain">
          <Icon name="info" />
          <span>It shares the throughput of its database{now && `, ${count(draftRu(draft.text))} RU/s`}.</span>
        </p>
      </Frame>
    )
  }
  const bar = (
    <SaveBar
      isDirty={isDirty}
      problem={problem}
      isSaving={isSaving}
      note={note}
      onSave={save}
      onDiscard={() => change(first())}
    />
  )
  return (
    <Frame title="Throughput" lead={lead} onSave={save} bar={bar}>
      {session.value?.rateLimit === false && (
        <p class="note plain">
          <Icon name="info" />
          <span>
            Not enforced now: this server was started without <code class="mono">--rate-limit on</code>, so nobody gets
            a 429.
          </span>
        </p>
      )}
      <RadioCards
        legend="Kind of throughput"
        value={draft.kind}
        cards={[
          { value: 'manual', label: 'Manual', text: 'The same number of RU/s all the time.' },
          {
            value: 'autoscale',
            label: 'Autoscale',
            text: 'Follows the load, between a tenth of the maximum and the maximum.',
          },
        ]}
        onChange={kind => change({ kind, ...(kind === 'autoscale' && Number(draft.text) < 1000 && { text: '1000' }) })}
      />
      <div class="narrow-field">
        <Field
          label={draft.kind === 'manual' ? 'RU per second' : 'Maximum RU per second'}
          hint={`${count(limits.least)} to ${count(limits.most)}, in steps of ${count(limits.step)}.`}
          {...(problem !== undefined && { problem })}
          unit={<span class="t3 fs12">RU/s</span>}
        >
          <input
            inputMode="numeric"
            autocomplete="off"
            value={draft.text}
            disabled={!mayWrite.value}
            onInput={event => change({ text: event.currentTarget.value })}
          />
        </Field>
      </div>
      {error !== undefined && <Refusal error={error} />}
    </Frame>
  )
}

function draftRu(text: string): number {
  return Number(text) || 0
}
