/** The editor of one script, stored or new. */

import { useEffect, useState } from 'preact/hooks'
import { ApiError } from '../../api/client.ts'
import { createScript, deleteScript, saveScript } from '../../api/container-calls.ts'
import type { Script, ScriptKind, ScriptList } from '../../api/container-shapes.ts'
import type { ContainerName } from '../../api/shapes.ts'
import { announce, announceNow } from '../../components/announce.tsx'
import { CodeField } from '../../components/code/code-field.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Field } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Menu } from '../../components/menu.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import { mayWrite } from '../../live/server-state.ts'
import { showDialog } from '../../navigation/dialogs.ts'
import { useKeys } from '../../navigation/keyboard.ts'
import { guardLeaving } from '../../navigation/router.ts'
import { firstBody, kinds, kindWord, scriptIdProblem, triggerOperations } from './script-words.ts'

interface ScriptEditorProps {
  name: ContainerName
  kind: ScriptKind
  /** Undefined: a new one. */
  script: Script | undefined
  list: ScriptList
  onSaved: (kind: ScriptKind, script: Script) => void
  onDeleted: () => void
  onKind: (kind: ScriptKind) => void
  onDirty: (isDirty: boolean) => void
  onBack: () => void
  onRun: () => void
}

export function ScriptEditor(props: ScriptEditorProps) {
  const { name, kind, script, list, onSaved, onDeleted, onKind, onDirty, onBack, onRun } = props
  const [id, setId] = useState('')
  const [body, setBody] = useState(script?.body ?? firstBody(kind, ''))
  const [type, setType] = useState<'Pre' | 'Post'>(script?.type ?? 'Pre')
  const [operation, setOperation] = useState(script?.operation ?? 'All')
  const [isSaving, setSaving] = useState(false)
  const [isTouched, setTouched] = useState(false)
  const [error, setError] = useState<unknown>()
  const isTrigger = kind === 'triggers'
  const isDirty =
    script === undefined ||
    body !== script.body ||
    (isTrigger && (type !== script.type || operation !== script.operation))
  const badId = script ? undefined : scriptIdProblem(id, list[kind])
  useEffect(() => onDirty(isDirty), [isDirty])
  useEffect(() => {
    if (!isDirty || body === firstBody(kind, id)) return
    const what = script ? `${script.id} has changes that are not saved.` : 'The new script is not saved.'
    return guardLeaving(() => confirm(`${what} Leave it?`))
  }, [isDirty, body])
  const save = async (isForced = false) => {
    setTouched(true)
    if (!isDirty || badId !== undefined || isSaving || !mayWrite.value) return
    setSaving(true)
    setError(undefined)
    const text = { body, ...(isTrigger && { type, operation }) }
    try {
      const saved = script
        ? await saveScript(name, kind, script.id, text, isForced ? '*' : script.etag)
        : await createScript(name, kind, { id: id.trim(), ...text })
      announce('Saved.')
      onSaved(kind, saved)
    } catch (thrown) {
      setError(thrown)
      announceNow(thrown instanceof Error ? thrown.message : 'The script was not saved.')
    }
    setSaving(false)
  }
  useKeys({ 'mod+s': () => void save() })
  const askDelete = () =>
    showDialog(close => (
      <Confirm
        title={`Delete the ${kindWord[kind]} ${script!.id}?`}
        label={`Delete ${script!.id}`}
        onClose={close}
        run={async () => {
          await deleteScript(name, kind, script!.id)
          onDeleted()
        }}
      >
        <p class="t2">Who calls it gets an error from now on. It cannot be undone.</p>
      </Confirm>
    ))
  const isStale = error instanceof ApiError && error.status === 412
  return (
    <>
      <div class="toolbar">
        <button type="button" class="icon onlym" aria-label="Back to the scripts" onClick={onBack}>
          <Icon name="back" />
        </button>
        <b class="mono">{script?.id ?? 'New script'}</b>
        {script && <span class="pill plain">{kindWord[kind]}</span>}
        <span class="grow" />
        {script && (
          <button type="button" class="btn sm onlym" onClick={onRun}>
            <Icon name="play" small />
            {kind === 'triggers' ? 'How it runs' : 'Run'}
          </button>
        )}
        {mayWrite.value && (
          <button
            type="button"
            class={`btn sm ${isDirty ? 'pri' : ''}`}
            disabled={!isDirty || isSaving}
            onClick={() => void save()}
          >
            {isSaving ? 'Saving…' : isDirty ? 'Save' : 'Saved'}
          </button>
        )}
        {script && mayWrite.value && (
          <Menu
            label={`More actions for ${script.id}`}
            entries={[{ label: 'Delete…', isDanger: true, run: askDelete }]}
          >
            <Icon name="more" />
          </Menu>
        )}
      </div>
      {!script && (
        <div class="toolbar script-new">
          <Segments
            isBare
            label="Kind"
            value={kind}
            options={kinds.map(each => ({ value: each, label: kindWord[each].replace('user-defined ', '') }))}
            onChange={next => {
              if (body === firstBody(kind, id)) setBody(firstBody(next, id))
              onKind(next)
            }}
          />
          <Field label="Name" {...(isTouched && badId !== undefined && { problem: badId })}>
            <input
              class="mono"
              autocomplete="off"
              spellcheck={false}
              autofocus
              value={id}
              onInput={event => {
                const next = event.currentTarget.value
                if (body === firstBody(kind, id)) setBody(firstBody(kind, next))
                setId(next)
              }}
            />
          </Field>
        </div>
      )}
      {isTrigger && (
        <div class="toolbar">
          <Segments
            isBare
            label="When it runs"
            value={type}
            options={[
              { value: 'Pre', label: 'Before the write' },
              { value: 'Post', label: 'After the write' },
            ]}
            onChange={setType}
          />
          <label class="t2 script-operation">
            of{' '}
            <select value={operation} onChange={event => setOperation(event.currentTarget.value)}>
              {triggerOperations.map(each => (
                <option key={each} value={each}>
                  {each === 'All' ? 'every operation' : each.toLowerCase()}
                </option>
              ))}
            </select>
          </label>
        </div>
      )}
      {error !== undefined && (
        <div class="script-refusal">
          <Refusal
            error={error}
            {...(isStale && {
              message: 'Somebody else has saved this script after you opened it. Nothing of yours was written.',
            })}
          />
          {isStale && (
            <button type="button" class="btn sm" onClick={() => void save(true)}>
              Save yours over it
            </button>
          )}
        </div>
      )}
      <CodeField
        key={script ? `${kind} ${script.id}` : 'new'}
        text={body}
        language="javascript"
        label={`Code of ${script?.id ?? 'the new script'}`}
        isReadOnly={!mayWrite.value}
        onChange={setBody}
      />
      <div class="script-foot">
        ECMAScript 2023, runs in a sandbox for up to {kind === 'functions' ? '10 ms each call' : '5 s'}
      </div>
    </>
  )
}
