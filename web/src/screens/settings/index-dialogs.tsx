/** The dialogs for indexes of a collection: a new one, another time, and dropping one. */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { ApiError, messageOf } from '../../api/client.ts'
import { changeIndex, createIndex, dropIndex } from '../../api/container-calls.ts'
import type { MongoIndex, Settings } from '../../api/container-shapes.ts'
import type { ContainerName } from '../../api/shapes.ts'
import { Confirm } from '../../components/confirm.tsx'
import { Field } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { showDialog } from '../../navigation/dialogs.ts'
import { count, counted } from '../../text/number-text.ts'
import { spanText } from '../../time/time-text.ts'
import { fieldProblem, indexKeyText, readAfter, readKey } from './index-form.ts'
import { useEnded } from './previews.ts'

interface Target {
  name: ContainerName
  onSettings: (settings: Settings) => void
}

interface FormProps extends Target {
  onClose: () => void
}

interface IndexFormProps extends FormProps {
  title: string
  verbs: readonly [string, string]
  isDisabled?: boolean
  isDanger?: boolean
  /** undefined: the fields say what is missing. */
  send: () => Promise<Settings> | undefined
  more?: ComponentChildren
  children: ComponentChildren
}

/** What is sent answers with the new settings. */
function IndexForm({ send, onSettings, ...form }: IndexFormProps) {
  return <FormDialog {...form} width={460} send={() => send()?.then(onSettings)} onSent={form.onClose} />
}

export const openNewDateIndex = (target: Target) => showDialog(close => <NewDateIndex {...target} onClose={close} />)
export const openNewIndex = (target: Target) => showDialog(close => <NewPlainIndex {...target} onClose={close} />)
export const openEditIndex = (target: Target, index: MongoIndex) =>
  showDialog(close => <EditIndex {...target} index={index} onClose={close} />)

export const openDropIndex = ({ name, onSettings }: Target, index: MongoIndex) =>
  showDialog(close => (
    <Confirm
      title={`Drop the index ${index.name}?`}
      label="Drop index"
      sendingLabel="Dropping…"
      onClose={close}
      run={async () => onSettings(await dropIndex(name, index.name))}
    >
      <p class="t2">
        {index.expireAfterSeconds === undefined
          ? 'Queries that used it read the documents instead. Nothing is deleted.'
          : 'Documents that only this index ends live on. What is already dead stays dead.'}
      </p>
    </Confirm>
  ))

/** Says who dies when the index is there. The button waits for the count, and carries it. */
function Ended({ now, error }: { now: number | undefined; error: unknown }) {
  if (error !== undefined) {
    return <Refusal error={error} message={`What would die could not be counted: ${messageOf(error)}`} />
  }
  if (now === undefined) return <p class="note plain">Counting who would die…</p>
  if (now === 0) return <p class="note plain">Nothing dies now.</p>
  return (
    <p class="note danger" role="alert">
      <span>
        <b class="b">
          {counted(now, 'document')} {now === 1 ? 'dies' : 'die'} the moment you save.
        </b>{' '}
        They stay gone, whatever you set later.
      </span>
    </p>
  )
}

/** Sends what ends documents with the count that was shown; takes the newer one from a refusal. */
async function withCount(
  now: number | undefined,
  take: (now: number) => void,
  send: (expectNow: number) => Promise<Settings>,
): Promise<Settings> {
  try {
    return await send(now ?? 0)
  } catch (error) {
    const preview = error instanceof ApiError ? (error.body.preview as { now: number } | undefined) : undefined
    if (preview) take(preview.now)
    throw error
  }
}

function verbWithCount(verb: string, now: number | undefined): string {
  return now === undefined || now === 0 ? verb : `${verb}, ${count(now)} ${now === 1 ? 'dies' : 'die'} now`
}

interface AfterFieldProps {
  value: string
  hint: string
  problem: string | undefined
  isFirst?: boolean
  onInput: (text: string) => void
}

function AfterField({ value, hint, problem, isFirst, onInput }: AfterFieldProps) {
  return (
    <Field
      label="Dies after the date by"
      hint={hint}
      {...(problem !== undefined && { problem })}
      unit={<span class="t3 fs12">d, h, m, s</span>}
    >
      <input
        {...(isFirst && { 'data-autofocus': true })}
        autocomplete="off"
        value={value}
        onInput={event => onInput(event.currentTarget.value)}
      />
    </Field>
  )
}

function NewDateIndex(props: FormProps) {
  const [field, setField] = useState('')
  const [after, setAfter] = useState('')
  const [isTouched, setTouched] = useState(false)
  const { seconds, problem: badTime } = readAfter(after)
  const badField = fieldProblem(field)
  const isReady = badField === undefined && seconds !== undefined
  const index = isReady ? { key: { [field.trim()]: 1 }, expireAfterSeconds: seconds } : undefined
  const { now, error, take } = useEnded(props.name, index)
  const send = () => {
    setTouched(true)
    return index && withCount(now, take, expectNow => createIndex(props.name, { ...index, expectNow }))
  }
  return (
    <IndexForm
      {...props}
      title="New date index"
      verbs={[verbWithCount('Create index', now), 'Creating…']}
      isDisabled={index !== undefined && now === undefined}
      isDanger={now !== undefined && now > 0}
      send={send}
    >
      <p class="t2">A document dies at a date in one of its fields, or some time after it.</p>
      <Field
        label="Field with the date"
        hint="Dots reach into documents: review.dueAt"
        {...(isTouched && badField !== undefined && { problem: badField })}
      >
        <input
          class="mono"
          data-autofocus
          autocomplete="off"
          spellcheck={false}
          value={field}
          onInput={event => setField(event.currentTarget.value)}
        />
      </Field>
      <AfterField value={after} hint="Empty or 0: at the date" problem={badTime} onInput={setAfter} />
      {index && <Ended now={now} error={error} />}
    </IndexForm>
  )
}

function NewPlainIndex(props: FormProps) {
  const [text, setText] = useState('')
  const [isUnique, setUnique] = useState(false)
  const [isTouched, setTouched] = useState(false)
  const { key, problem } = readKey(text)
  const send = () => {
    setTouched(true)
    return key && createIndex(props.name, { key, ...(isUnique && { unique: true }) })
  }
  return (
    <IndexForm {...props} title="New index" verbs={['Create index', 'Creating…']} send={send}>
      <Field
        label="Key"
        hint="One field, or several as JSON: 1 goes up, -1 goes down"
        {...(isTouched && problem !== undefined && { problem })}
      >
        <input
          class="mono"
          data-autofocus
          autocomplete="off"
          spellcheck={false}
          placeholder='{"status": 1, "openedAt": -1}'
          value={text}
          onInput={event => setText(event.currentTarget.value)}
        />
      </Field>
      <label class="check">
        <input type="checkbox" checked={isUnique} onChange={event => setUnique(event.currentTarget.checked)} />
        Unique: no two living documents may have the same values
      </label>
    </IndexForm>
  )
}

function EditIndex({ index, ...props }: FormProps & { index: MongoIndex }) {
  const [after, setAfter] = useState(spanText(index.expireAfterSeconds ?? 0))
  const { seconds, problem } = readAfter(after)
  const { name } = index
  const isChanged = seconds !== undefined && seconds !== index.expireAfterSeconds
  const { now, error, take } = useEnded(props.name, isChanged ? { name, expireAfterSeconds: seconds } : undefined)
  return (
    <IndexForm
      {...props}
      title={name}
      verbs={[verbWithCount('Save', now), 'Saving…']}
      isDisabled={!isChanged || now === undefined}
      isDanger={now !== undefined && now > 0}
      send={() =>
        withCount(now, take, expectNow => changeIndex(props.name, name, { expireAfterSeconds: seconds!, expectNow }))
      }
      more={
        <>
          <button type="button" class="btn txt dgr" onClick={() => openDropIndex(props, index)}>
            Drop…
          </button>
          <span class="grow" />
        </>
      }
    >
      <p class="mono t2">{indexKeyText(index.key)}</p>
      <AfterField value={after} hint="0: at the date" problem={problem} isFirst onInput={setAfter} />
      {isChanged && <Ended now={now} error={error} />}
    </IndexForm>
  )
}
