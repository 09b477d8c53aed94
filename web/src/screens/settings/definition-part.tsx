/** The parts of the settings that are edited as JSON: the indexing policy, and the whole definition. */

import { useState } from 'preact/hooks'
import { ApiError } from '../../api/client.ts'
import { putSettings } from '../../api/container-calls.ts'
import type { IndexState, NosqlSettings } from '../../api/container-shapes.ts'
import { announce, announceNow } from '../../components/announce.tsx'
import { CodeField } from '../../components/code/code-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { mayWrite } from '../../live/store.ts'
import { readJson } from './definition-form.ts'
import { Frame } from './frame.tsx'
import type { PartProps } from './part.ts'
import { SaveBar } from './save-bar.tsx'

type Props = PartProps<NosqlSettings>

interface JsonPartProps extends Props {
  title: string
  lead: string
  /** What is edited. */
  value: unknown
  /** The definition with the new value in its place. */
  withValue: (value: unknown) => Record<string, unknown>
  children?: preact.ComponentChildren
}

function JsonPart({ name, settings, onSettings, title, lead, value, withValue, children }: JsonPartProps) {
  const first = JSON.stringify(value, null, 2)
  const [text, setText] = useState(first)
  const [isSaving, setSaving] = useState(false)
  const [note, setNote] = useState<string | undefined>()
  const [error, setError] = useState<unknown>()
  const read = readJson(text)
  const isDirty = text !== first
  const save = async () => {
    if (!isDirty || read.problem !== undefined || isSaving || !mayWrite.value) return
    setSaving(true)
    setError(undefined)
    try {
      const next = await putSettings(name, { definition: withValue(read.value) }, settings.etag)
      onSettings(next)
      setText(text)
      setNote('Saved.')
      announce('Saved.')
    } catch (thrown) {
      setError(thrown)
      announceNow(thrown instanceof Error ? thrown.message : 'The setting was not saved.')
    }
    setSaving(false)
  }
  const isStale = error instanceof ApiError && error.status === 412
  const bar = (
    <SaveBar
      isDirty={isDirty}
      problem={read.problem}
      isSaving={isSaving}
      note={note}
      onSave={save}
      onDiscard={() => {
        setText(first)
        setError(undefined)
        setNote(undefined)
      }}
    />
  )
  return (
    <Frame title={title} lead={lead} onSave={save} bar={bar}>
      <div class="settings-editor">
        <CodeField
          text={text}
          language="json"
          label={title}
          isReadOnly={!mayWrite.value}
          onChange={next => {
            setText(next)
            setNote(undefined)
            setError(undefined)
          }}
        />
      </div>
      {isDirty && read.problem !== undefined && (
        <p class="note danger" role="alert">
          <Icon name="warning" />
          <span>{read.problem}</span>
        </p>
      )}
      {error !== undefined && (
        <Refusal
          error={error}
          {...(isStale && {
            message:
              'Somebody else has changed this container meanwhile. Nothing of yours was written; discard, and begin with theirs.',
          })}
        />
      )}
      {children}
    </Frame>
  )
}

export function IndexingPolicy(props: Props) {
  const { definition, indexes } = props.settings
  return (
    <JsonPart
      {...props}
      title="Indexing policy"
      lead="Which paths may be indexed. Within it, indexes are made when queries would use them, and dropped when none does."
      value={definition.indexingPolicy ?? {}}
      withValue={indexingPolicy => ({ ...definition, indexingPolicy })}
    >
      <Indexes indexes={indexes} />
    </JsonPart>
  )
}

export function Definition(props: Props) {
  return (
    <JsonPart
      {...props}
      title="All as JSON"
      lead="The whole definition, as the protocol shows it: also computed properties, vector and full-text policies. Partition key, unique keys and conflict resolution cannot be changed."
      value={props.settings.definition}
      withValue={value => value as Record<string, unknown>}
    />
  )
}

function Indexes({ indexes }: { indexes: readonly IndexState[] }) {
  return (
    <div class="card">
      <header>
        <h2>Indexes that are there now</h2>
      </header>
      {indexes.length === 0 ? (
        <p class="body t2">None yet. The first slow queries ask for them.</p>
      ) : (
        <div class="scroll-x">
          <table class="tbl">
            <thead>
              <tr>
                <th scope="col">paths</th>
                <th scope="col">made</th>
                <th scope="col">state</th>
              </tr>
            </thead>
            <tbody>
              {indexes.map(({ paths, state, declared }) => (
                <tr key={paths.join()}>
                  <td class="mono">{paths.join(', ')}</td>
                  <td class="t2">{declared ? 'declared in the policy' : 'for queries'}</td>
                  <td>{state}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
    </div>
  )
}
