/** The dialogs for indexes of a collection: a new one, another time, and dropping one. */

import { useState } from 'preact/hooks'
import { ApiError } from '../../api/client.ts'
import { changeIndex, createIndex, dropIndex } from '../../api/container-calls.ts'
import type { MongoIndex, NewIndex, Settings } from '../../api/container-shapes.ts'
import type { ContainerName } from '../../api/shapes.ts'
import { showDialog } from '../../app/dialogs.ts'
import { ConfirmDelete } from '../../components/confirm-delete.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { counted, spanText } from '../../live/time-text.ts'
import { fieldProblem, keyText, readAfter, readKey } from './index-form.ts'

interface Target {
  name: ContainerName
  onSettings: (settings: Settings) => void
}

interface FormProps extends Target {
  onClose: () => void
}

/** Sends a form; a refusal stays in the dialog. */
function useSend({ onSettings, onClose }: FormProps, send: () => Promise<Settings>) {
  const [isSending, setSending] = useState(false)
  const [error, setError] = useState<unknown>()
  const run = async () => {
    setSending(true)
    setError(undefined)
    try {
      onSettings(await send())
      onClose()
    } catch (thrown) {
      setError(thrown)
      setSending(false)
    }
  }
  return { isSending, error, run }
}

export const openNewDateIndex = (target: Target) => showDialog(close => <NewDateIndex {...target} onClose={close} />)
export const openNewIndex = (target: Target) => showDialog(close => <NewPlainIndex {...target} onClose={close} />)
export const openEditIndex = (target: Target, index: MongoIndex) =>
  showDialog(close => <EditIndex {...target} index={index} onClose={close} />)

function NewDateIndex(props: FormProps) {
  const [field, setField] = useState('')
  const [after, setAfter] = useState('')
  const [isTouched, setTouched] = useState(false)
  const { seconds, problem: badTime } = readAfter(after)
  const badField = fieldProblem(field)
  const { isSending, error, run } = useSend(props, () =>
    createIndex(props.name, { key: { [field.trim()]: 1 }, expireAfterSeconds: seconds! }),
  )
  const submit = () => {
    setTouched(true)
    if (badField === undefined && badTime === undefined) void run()
  }
  const refused = error instanceof ApiError ? error.field : undefined
  return (
    <Dialog
      title="New date index"
      width={460}
      onClose={props.onClose}
      footer={
        <>
          <button type="button" class="btn" onClick={props.onClose}>
            Cancel
          </button>
          <button type="button" class="btn pri" disabled={isSending} onClick={submit}>
            {isSending ? 'Creating…' : 'Create index'}
          </button>
        </>
      }
    >
      <form
        class="form-stack"
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
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
        <Field
          label="Dies after the date by"
          hint="Empty or 0: at the date"
          {...(badTime !== undefined && { problem: badTime })}
          unit={<span class="t3 fs12">d, h, m, s</span>}
        >
          <input autocomplete="off" value={after} onInput={event => setAfter(event.currentTarget.value)} />
        </Field>
        <p class="note danger">
          <span>Documents whose date has passed die the moment the index exists. They stay gone.</span>
        </p>
        {error !== undefined && !refused && <Refusal error={error} />}
        <button type="submit" class="sr" tabIndex={-1}>
          Create
        </button>
      </form>
    </Dialog>
  )
}

function NewPlainIndex(props: FormProps) {
  const [text, setText] = useState('')
  const [isUnique, setUnique] = useState(false)
  const [isTouched, setTouched] = useState(false)
  const { key, problem } = readKey(text)
  const { isSending, error, run } = useSend(props, () => {
    const body: NewIndex = { key: key!, ...(isUnique && { unique: true }) }
    return createIndex(props.name, body)
  })
  const submit = () => {
    setTouched(true)
    if (key) void run()
  }
  return (
    <Dialog
      title="New index"
      width={460}
      onClose={props.onClose}
      footer={
        <>
          <button type="button" class="btn" onClick={props.onClose}>
            Cancel
          </button>
          <button type="button" class="btn pri" disabled={isSending} onClick={submit}>
            {isSending ? 'Creating…' : 'Create index'}
          </button>
        </>
      }
    >
      <form
        class="form-stack"
        onSubmit={event => {
          event.preventDefault()
          submit()
        }}
      >
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
        {error !== undefined && <Refusal error={error} />}
        <button type="submit" class="sr" tabIndex={-1}>
          Create
        </button>
      </form>
    </Dialog>
  )
}

function EditIndex({ index, ...props }: FormProps & { index: MongoIndex }) {
  const [after, setAfter] = useState(spanText(index.expireAfterSeconds ?? 0))
  const { seconds, problem } = readAfter(after)
  const { isSending, error, run } = useSend(props, () => changeIndex(props.name, index.name, seconds!))
  const drop = () =>
    showDialog(close => (
      <ConfirmDelete
        title={`Drop the index ${index.name}?`}
        label="Drop index"
        onClose={close}
        run={async () => props.onSettings(await dropIndex(props.name, index.name))}
      >
        <p class="t2">
          {index.ends ? `It ends ${counted(index.ends, 'document')}, which then live on. ` : ''}
          What is already dead stays dead.
        </p>
      </ConfirmDelete>
    ))
  return (
    <Dialog
      title={index.name}
      width={460}
      onClose={props.onClose}
      footer={
        <>
          <button type="button" class="btn txt dgr" onClick={drop}>
            Drop…
          </button>
          <span class="grow" />
          <button type="button" class="btn" onClick={props.onClose}>
            Cancel
          </button>
          <button
            type="button"
            class="btn pri"
            disabled={isSending || seconds === undefined || seconds === index.expireAfterSeconds}
            onClick={run}
          >
            {isSending ? 'Saving…' : 'Save'}
          </button>
        </>
      }
    >
      <form
        class="form-stack"
        onSubmit={event => {
          event.preventDefault()
          if (seconds !== undefined) void run()
        }}
      >
        <p class="mono t2">{keyText(index.key)}</p>
        <Field
          label="Dies after the date by"
          hint="0: at the date"
          {...(problem !== undefined && { problem })}
          unit={<span class="t3 fs12">d, h, m, s</span>}
        >
          <input
            data-autofocus
            autocomplete="off"
            value={after}
            onInput={event => setAfter(event.currentTarget.value)}
          />
        </Field>
        {error !== undefined && <Refusal error={error} />}
      </form>
    </Dialog>
  )
}
