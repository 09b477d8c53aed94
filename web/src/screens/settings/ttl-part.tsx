/** Time to Live: Off, On (no default) or On, with what the choice would do before it is saved. */

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../../api/client.ts'
import { putSettings } from '../../api/container-calls.ts'
import type { Preview, Settings } from '../../api/container-shapes.ts'
import type { Container, ContainerName, Ttl } from '../../api/shapes.ts'
import { announce, announceNow } from '../../components/announce.tsx'
import { CopyButton } from '../../components/copy.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import { readTtlField, type TtlChoice } from '../../containers/input-rules.ts'
import { mayWrite } from '../../live/server-state.ts'
import { go } from '../../navigation/router.ts'
import { addressOf } from '../../navigation/routes.ts'
import { count, counted } from '../../text/number-text.ts'
import { itemNowMs } from '../../time/clock.ts'
import { spanText } from '../../time/time-text.ts'
import { Frame } from './frame.tsx'
import type { PartProps } from './part.ts'
import { PreviewCard, Sentence } from './preview-card.tsx'
import { usePreview } from './previews.ts'
import { type RadioCard, RadioCards } from './radio-cards.tsx'
import { SaveBar } from './save-bar.tsx'
import { ends, plainText, previewSentence, saveLabel, ttlName } from './ttl-preview.ts'

const presets = [
  { value: '300', label: '5 m' },
  { value: '3600', label: '1 h' },
  { value: '86400', label: '1 d' },
  { value: '604800', label: '7 d' },
  { value: '2592000', label: '30 d' },
  { value: '31536000', label: '1 y' },
] as const

interface Draft {
  choice: TtlChoice
  text: string
}

function draftOf(ttl: Ttl): Draft {
  if (ttl.kind === 'on') return { choice: 'on', text: spanText(ttl.seconds) }
  return { choice: ttl.kind === 'no default' ? 'no default' : 'off', text: '' }
}

function defaultOf(ttl: Ttl): number | null {
  if (ttl.kind === 'on') return ttl.seconds
  return ttl.kind === 'no default' ? -1 : null
}

interface TtlPartProps extends PartProps {
  cards: readonly RadioCard<TtlChoice>[]
  lead: ComponentChildren
  children?: ComponentChildren
}

export function TtlPart({ name, container, settings, onSettings, cards, lead, children }: TtlPartProps) {
  const { api } = container
  const { ttl, shares } = settings
  const [draft, setDraft] = useState(() => draftOf(ttl))
  const [isSaving, setSaving] = useState(false)
  const [refusal, setRefusal] = useState<unknown>()
  const [note, setNote] = useState<string | undefined>()
  const current = defaultOf(ttl)
  const { defaultTtl, problem: badNumber } = readTtlField(draft.choice, draft.text)
  // Nobody is told that an empty field is wrong before they could fill it.
  const problem = draft.text.trim() === '' ? undefined : badNumber
  const wanted = badNumber === undefined ? defaultTtl : undefined
  const isChanged = badNumber !== undefined || defaultTtl !== current
  // Documents with dates die by those, as if there were no default.
  const { preview, isCounting, error, take } = usePreview(name, ttl.kind === 'date' ? -1 : wanted)
  // Somebody else may have changed the setting; what is typed here stays.
  const [seen, setSeen] = useState(current)
  useEffect(() => {
    if (seen === current) return
    setSeen(current)
    if (defaultTtl === seen || defaultTtl === current) setDraft(draftOf(ttl))
    else setNote(`Somebody else has set Time to Live to ${ttlName(ttl)} meanwhile.`)
  }, [current])
  useEffect(() => {
    if (preview && isChanged && !isCounting) announce(plainText(previewSentence(preview, api, true)))
  }, [wanted, isCounting])
  const change = (next: Partial<Draft>) => {
    setDraft({ ...draft, ...next })
    setNote(undefined)
    setRefusal(undefined)
  }
  const save = async () => {
    if (wanted === undefined || !isChanged || isSaving || !mayWrite.value) return
    setSaving(true)
    setRefusal(undefined)
    setNote(undefined)
    try {
      const expectNow = preview && !isCounting ? { expectNow: preview.now } : {}
      const next = await putSettings(name, { defaultTtl: wanted, ...expectNow })
      setSeen(defaultOf(next.ttl))
      setDraft(draftOf(next.ttl))
      onSettings(next)
      const died = preview && preview.now > 0 ? ` ${counted(preview.now, itemOf(api))} died.` : ''
      setNote(`Saved: ${ttlName(next.ttl)}.${died}`)
    } catch (thrown) {
      const counted = thrown instanceof ApiError ? (thrown.body.preview as Preview | undefined) : undefined
      if (counted) {
        take({ ...counted, isAbout: counted.isAbout ?? false })
        setNote(
          `Nothing was saved: by now ${count(counted.now)} ${itemOf(api)}s would die. Save again if that is right.`,
        )
      } else setRefusal(thrown)
      announceNow(thrown instanceof Error ? thrown.message : 'The setting was not saved.')
    }
    setSaving(false)
  }
  const showDying = api === 'nosql' && wanted ? () => go(addressOf(dying(name, wanted))) : undefined
  const isOff = isChanged && draft.choice === 'off'
  const bar = (
    <SaveBar
      isDirty={isChanged}
      problem={badNumber ?? (isCounting ? 'What would die is still being counted.' : undefined)}
      isSaving={isSaving}
      note={note}
      label={saveLabel(isCounting ? undefined : preview)}
      isDanger={preview !== undefined && preview.now > 0 && !isCounting}
      onSave={save}
      onDiscard={() => {
        change(draftOf(ttl))
      }}
    />
  )
  return (
    <Frame title="Time to Live" lead={lead} onSave={save} bar={bar}>
      <RadioCards
        legend="Time to Live"
        value={draft.choice}
        cards={cards}
        onChange={choice =>
          change({
            choice,
            ...(choice === 'on' && draft.text === '' && current !== null && current > 0 && { text: spanText(current) }),
          })
        }
      />
      {draft.choice === 'on' && (
        <div class="settings-row">
          <div>
            <span class={problem ? 'field bad ttl-field' : 'field ttl-field'}>
              <input
                value={draft.text}
                aria-label="Time to live in seconds"
                aria-invalid={problem !== undefined}
                aria-describedby="ttl-about"
                data-test="ttl-input"
                autocomplete="off"
                disabled={!mayWrite.value}
                onInput={event => change({ text: event.currentTarget.value })}
              />
              <span class="t3 fs12">d, h, m, s</span>
            </span>
          </div>
          <span class={problem ? 'danger' : 't2'} id="ttl-about" role={problem ? 'alert' : undefined}>
            {problem ??
              (wanted === undefined ? (
                'How long?'
              ) : (
                <>
                  = <b class="t1 m">{counted(wanted!, 'second')}</b>
                </>
              ))}
          </span>
          <span class="grow" />
          {api === 'mongo' && wanted !== undefined && (
            <CopyButton text={createIndexText(name.container, wanted!)} what="createIndex command">
              Copy as createIndex
            </CopyButton>
          )}
          {api === 'nosql' && (
            <Segments
              isBare
              label="Presets"
              value={String(wanted)}
              options={presets.map(preset => ({
                ...preset,
                ...(!mayWrite.value && { disabled: 'This key may only read.' }),
              }))}
              onChange={value => change({ text: presets.find(preset => preset.value === value)!.label })}
            />
          )}
        </div>
      )}
      {refusal !== undefined && <Refusal error={refusal} />}
      {error !== undefined && (
        <Refusal
          error={error}
          message={`What would die could not be counted: ${error instanceof Error ? error.message : error}`}
        />
      )}
      {isChanged || !preview ? (
        wanted !== undefined && (
          <PreviewCard
            preview={preview}
            api={api}
            isChanged={isChanged}
            isCounting={isCounting}
            note={isOff ? 'Nothing dies any more. What is already dead stays dead.' : undefined}
            showDying={showDying}
          />
        )
      ) : (
        <p class="t2 settings-now">
          <Sentence parts={previewSentence(preview, api, false)} />
        </p>
      )}
      {api === 'nosql' && <Ends shares={shares} today={current} after={isChanged ? wanted : undefined} />}
      {children}
    </Frame>
  )
}

function itemOf(api: Container['api']): string {
  return api === 'mongo' ? 'document' : 'item'
}

/** The items that inherit, and were written so long ago that they would die at once. */
function dying(name: ContainerName, defaultTtl: number) {
  const before = Math.floor(itemNowMs() / 1000) - defaultTtl
  const query = `WHERE c._ts <= ${before} AND NOT IS_DEFINED(c.ttl)`
  return { name: 'container', ...name, screen: 'items', params: { query } } as const
}

function createIndexText(collection: string, expireAfterSeconds: number): string {
  const options = `{ expireAfterSeconds: ${expireAfterSeconds} }`
  return `db.getCollection(${JSON.stringify(collection)}).createIndex({ _ts: 1 }, ${options})`
}

interface EndsProps {
  shares: Settings['shares']
  today: number | null
  /** Undefined: nothing changes. */
  after: number | null | undefined
}

function Ends({ shares, today, after }: EndsProps) {
  const now = ends(today)
  const then = after === undefined ? undefined : ends(after)
  const rows = [
    { what: 'no ttl', key: 'none', n: shares.none },
    { what: <span class="mono">"ttl": -1</span>, key: 'never', n: shares.never },
    { what: <span class="mono">"ttl": n</span>, key: 'own', n: shares.own },
  ] as const
  const tone = (text: string) => (text === 'never dies' ? 'never' : '')
  return (
    <div class="card scroll-x">
      <table class="tbl">
        <thead>
          <tr>
            <th scope="col">An item with</th>
            <th scope="col" class={then ? 'hide-m' : ''}>
              today
            </th>
            {then && <th scope="col">after you save</th>}
            <th scope="col" class="r">
              items
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ what, key, n }) => (
            <tr key={key}>
              <td>{what}</td>
              <td class={`${tone(now[key])} ${then ? 'hide-m' : ''}`}>{now[key]}</td>
              {then && (
                <td class={then[key] === now[key] ? tone(then[key]) : `m ${tone(then[key])}`}>
                  {then[key] === now[key] && then[key] !== 'never dies' ? 'no change' : then[key]}
                </td>
              )}
              <td class="r">
                {shares.isAbout && 'about '}
                {count(n)}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}
