/** Throughput: a fixed number of RU/s, or one that follows the load up to a maximum. */

import { useState } from 'preact/hooks'
import { putSettings } from '../../api/container-calls.ts'
import { Field } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import {
  leastText,
  readThroughput,
  ruLabel,
  type ThroughputKind,
  throughputHint,
} from '../../containers/throughput-form.ts'
import { mayWrite, session } from '../../live/server-state.ts'
import { count } from '../../text/number-text.ts'
import { Frame } from './frame.tsx'
import type { PartProps } from './part.ts'
import { RadioCards } from './radio-cards.tsx'
import { useSaving } from './saving.tsx'

export function ThroughputPart({ name, container, settings, onSettings }: PartProps) {
  const now = settings.throughput
  const isShared = now === null || now.isShared === true
  const first = () => ({
    kind: (now?.kind ?? 'manual') as ThroughputKind,
    text: String(now?.kind === 'autoscale' ? now.maxRuPerSecond : (now?.ruPerSecond ?? 400)),
  })
  const [draft, setDraft] = useState(first)
  const { throughput, problem } = readThroughput(draft.kind, draft.text)
  const isDirty = draft.kind !== first().kind || draft.text !== first().text
  const { save, bar, error, forget } = useSaving({
    isDirty,
    problem,
    put: async () => onSettings(await putSettings(name, { throughput: throughput! })),
    onDiscard: () => setDraft(first()),
  })
  const change = (next: Partial<typeof draft>) => {
    setDraft({ ...draft, ...next })
    forget()
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
        onChange={kind => change({ kind, text: leastText(kind, draft.text) })}
      />
      <div class="narrow-field">
        <Field
          label={ruLabel[draft.kind]}
          hint={throughputHint(draft.kind)}
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
