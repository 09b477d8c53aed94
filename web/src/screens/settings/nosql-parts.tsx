/** The parts of the settings of a NoSQL container that are fields of its definition. */

import { useState } from 'preact/hooks'
import { putSettings } from '../../api/container-calls.ts'
import type { NosqlSettings } from '../../api/container-shapes.ts'
import { Field } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import type { TtlChoice } from '../../containers/input-rules.ts'
import { mayWrite } from '../../live/server-state.ts'
import { counted } from '../../text/number-text.ts'
import { parseSpan, spanText } from '../../time/time-text.ts'
import { Frame } from './frame.tsx'
import type { PartProps } from './part.ts'
import type { RadioCard } from './radio-cards.tsx'
import { useSaving } from './saving.tsx'
import { Switch } from './switch.tsx'
import { TtlPart } from './ttl-part.tsx'
import { ttlName } from './ttl-preview.ts'

type Props = PartProps<NosqlSettings>

const cards: readonly RadioCard<TtlChoice>[] = [
  { value: 'off', label: 'Off', text: 'Items never expire. A ttl in an item is only data.' },
  { value: 'no default', label: 'On (no default)', text: 'Items never expire, except those with a ttl of their own.' },
  { value: 'on', label: 'On', text: 'Items expire after this time, except those with a ttl of their own.' },
]

export function NosqlTtl(props: Props) {
  return (
    <TtlPart
      {...props}
      cards={cards}
      lead={
        <>
          How long an item lives after its last write. Now: <b class="t1 m">{ttlName(props.settings.ttl)}</b>.
        </>
      }
    />
  )
}

export function UniqueKeys({ settings }: Props) {
  const policy = settings.definition.uniqueKeyPolicy as { uniqueKeys?: { paths: string[] }[] } | undefined
  const keys = policy?.uniqueKeys ?? []
  return (
    <Frame
      title="Unique keys"
      lead="Values that no two items with one partition key may share. An item that has died stands in nobody's way."
    >
      <div class="card">
        {keys.length === 0 ? (
          <p class="body t2">This container has no unique keys.</p>
        ) : (
          <ul class="key-list">
            {keys.map(({ paths }) => (
              <li key={paths.join()} class="mono">
                {paths.join(', ')}
              </li>
            ))}
          </ul>
        )}
        <p class="card-note">They are chosen when a container is created, and cannot be changed.</p>
      </div>
    </Frame>
  )
}

/** Minutes for which the protocol lets all versions be kept. */
const logMinutesDefault = 60

export function ChangeFeed({ name, settings, onSettings }: Props) {
  const policy = settings.definition.changeFeedPolicy as { retentionDuration?: number } | undefined
  const minutes = policy?.retentionDuration ?? 0
  const first = { isOn: minutes > 0, text: spanText((minutes || logMinutesDefault) * 60) }
  const [draft, setDraft] = useState(first)
  const seconds = parseSpan(draft.text)
  const isWhole = seconds !== undefined && seconds > 0 && seconds % 60 === 0
  const problem = draft.isOn && !isWhole ? 'Use whole minutes, for instance 60 m, 1 h, 7 d.' : undefined
  const wanted = draft.isOn ? (seconds ?? 0) / 60 : 0
  const isDirty = problem !== undefined || wanted !== minutes
  const put = async () => {
    const { changeFeedPolicy: _, ...rest } = settings.definition
    const definition = wanted > 0 ? { ...rest, changeFeedPolicy: { retentionDuration: wanted } } : rest
    onSettings(await putSettings(name, { definition }, settings.etag))
  }
  const { save, bar, error, forget } = useSaving({ isDirty, problem, put, onDiscard: () => setDraft(first) })
  const change = (next: Partial<typeof draft>) => {
    setDraft({ ...draft, ...next })
    forget()
  }
  return (
    <Frame
      title="Change feed"
      lead={
        <>
          The newest version of each item can always be followed. Replaced versions, deletes and deaths only while a log
          keeps them.
        </>
      }
      onSave={save}
      bar={bar}
    >
      <div class="card">
        <Switch
          label="All versions and deletes"
          isOn={draft.isOn}
          disabled={!mayWrite.value}
          onChange={isOn => change({ isOn })}
        >
          Each write, delete and death is kept for a while. A death is a delete with{' '}
          <code class="mono">timeToLiveExpired</code>.
        </Switch>
      </div>
      {draft.isOn && (
        <div class="narrow-field">
          <Field
            label="Kept for"
            hint={isWhole ? `= ${counted(wanted, 'minute')}` : undefined}
            {...(problem !== undefined && { problem })}
            unit={<span class="t3 fs12">d, h, m</span>}
          >
            <input
              autocomplete="off"
              value={draft.text}
              disabled={!mayWrite.value}
              onInput={event => change({ text: event.currentTarget.value })}
            />
          </Field>
        </div>
      )}
      {!draft.isOn && minutes > 0 && (
        <p class="note danger">
          <Icon name="warning" />
          <span>The log is dropped when you save. Who follows all versions gets an error.</span>
        </p>
      )}
      {error !== undefined && <Refusal error={error} />}
    </Frame>
  )
}
