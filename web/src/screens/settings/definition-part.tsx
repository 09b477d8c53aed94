/** The parts of the settings that are edited as JSON: the indexing policy, and the whole definition. */

import { useState } from 'preact/hooks'
import { ApiError } from '../../api/client.ts'
import { putSettings } from '../../api/container-calls.ts'
import type { IndexState, NosqlSettings, Preview } from '../../api/container-shapes.ts'
import { CodeField } from '../../components/code/code-field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { mayWrite } from '../../live/server-state.ts'
import { newDefaultTtl, readJson } from './definition-form.ts'
import { Frame } from './frame.tsx'
import type { PartProps } from './part.ts'
import { PreviewCard } from './preview-card.tsx'
import { usePreview } from './previews.ts'
import { useSaving } from './saving.tsx'
import { saveLabel } from './ttl-preview.ts'

type Props = PartProps<NosqlSettings>

interface JsonPartProps extends Props {
  title: string
  lead: string
  /** What is edited. */
  value: unknown
  /** The definition with the new value in its place. */
  withValue: (value: Record<string, unknown>) => Record<string, unknown>
  children?: preact.ComponentChildren
}

function JsonPart({ name, settings, onSettings, title, lead, value, withValue, children }: JsonPartProps) {
  const first = JSON.stringify(value, null, 2)
  const [text, setText] = useState(first)
  const read = readJson(text)
  const isDirty = text !== first
  const definition = read.value && withValue(read.value)
  const wanted = definition && newDefaultTtl(settings.definition, definition)
  const { preview, isCounting, take } = usePreview(name, wanted)
  const shown = wanted === undefined || isCounting ? undefined : preview
  const put = async () => {
    try {
      const body = { definition: definition!, ...(shown && { expectNow: shown.now }) }
      onSettings(await putSettings(name, body, settings.etag))
    } catch (thrown) {
      const counted = thrown instanceof ApiError ? (thrown.body.preview as Preview | undefined) : undefined
      if (counted) take({ ...counted, isAbout: false })
      throw thrown
    }
  }
  const { save, bar, error, forget } = useSaving({
    isDirty,
    problem: read.problem ?? (isCounting ? 'What would die is still being counted.' : undefined),
    label: saveLabel(shown),
    isDanger: shown !== undefined && shown.now > 0,
    put,
    onDiscard: () => setText(first),
  })
  const isStale = error instanceof ApiError && error.status === 412
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
            forget()
          }}
        />
      </div>
      {isDirty && read.problem !== undefined && (
        <p class="note danger" role="alert">
          <Icon name="warning" />
          <span>{read.problem}</span>
        </p>
      )}
      {wanted !== undefined && <PreviewCard preview={preview} api="nosql" isChanged isCounting={isCounting} />}
      {error !== undefined && (
        <Refusal
          error={error}
          {...(isStale && {
            message: `Somebody else has changed this container meanwhile.
              Nothing of yours was written; discard, and begin with theirs.`,
          })}
        />
      )}
      {children}
    </Frame>
  )
}

const indexingLead = `Which paths may be indexed. Within it, indexes are made when queries would use them,
  and dropped when none does.`
const wholeLead = `The whole definition, as the protocol shows it: also computed properties, vector and full-text
  policies. Partition key, unique keys and conflict resolution cannot be changed.`

export function IndexingPolicy(props: Props) {
  const { definition, indexes } = props.settings
  return (
    <JsonPart
      {...props}
      title="Indexing policy"
      lead={indexingLead}
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
      lead={wholeLead}
      value={props.settings.definition}
      withValue={value => value}
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
