/** The pane of an item that is not stored yet. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { createItem } from '../../../api/calls.ts'
import { ApiError } from '../../../api/client.ts'
import { announce, announceNow } from '../../../components/announce.tsx'
import { Icon } from '../../../components/icon.tsx'
import { Refusal } from '../../../components/refusal.tsx'
import { itemWord } from '../../../containers/words.ts'
import { keyText } from '../../../navigation/key-caps.tsx'
import { useKeys } from '../../../navigation/keyboard.ts'
import { guardLeaving, letGo, setParams } from '../../../navigation/router.ts'
import { eachSecond } from '../../../time/clock.ts'
import { zone } from '../../../time/zone.ts'
import { ItemEditor, type ItemEditorHandle } from './item-editor.tsx'
import type { Beside } from './item-extensions.ts'
import { newItemText, ownTtl } from './item-text.ts'
import type { ItemPaneProps } from './pane-props.ts'
import { ttlHint } from './ttl-hint.ts'

/** A text that another pane left here: a dead item that is to live again. */
let draft: string | undefined

export function startNewItem(text: string): void {
  draft = text
  letGo()
  setParams({ item: 'new', wide: '1' }, { replace: false })
}

export function NewItemPane({ name, container, onClose, onSaved }: ItemPaneProps) {
  const { api } = container
  const first = useRef(draft ?? newItemText(api, container.partitionKey))
  const [text, setText] = useState(first.current)
  const [error, setError] = useState<unknown>()
  const [isSaving, setSaving] = useState(false)
  const editor = useRef<ItemEditorHandle | undefined>(undefined)
  const word = itemWord(api)
  const isChanged = text !== first.current || draft !== undefined
  useEffect(() => {
    draft = undefined
  }, [])
  useEffect(() => {
    if (!isChanged) return
    return guardLeaving(() => confirm(`The new ${word} is not saved. Leave it?`))
  }, [isChanged])
  const nowMs = eachSecond.value
  const beside: Beside = {
    stored: first.current,
    ttlHint: ttlHint({ ttl: ownTtl(text), item: undefined, container, isChanged: true, nowMs, zone: zone() }),
    system: [],
    isSystemOpen: false,
    onSystem: () => {},
    writtenHint: '',
    lockedName: undefined,
  }
  const save = async () => {
    if (isSaving) return
    setSaving(true)
    setError(undefined)
    try {
      const item = await createItem(name, text)
      announce(`${item.id} is saved`)
      onSaved(item)
      letGo()
      setParams({ item: item.key })
    } catch (thrown) {
      setSaving(false)
      setError(thrown)
      announceNow('The item was not saved')
      if (thrown instanceof ApiError && thrown.line !== undefined) {
        editor.current?.showRefusal(thrown.message, thrown.line, thrown.column ?? 1)
      }
    }
  }
  useKeys({ 'mod+s': () => void save() })
  return (
    <section class="pane" aria-label={`New ${word}`}>
      <div class="ihead">
        <button type="button" class="icon onlym" aria-label="Back to the list" onClick={onClose}>
          <Icon name="back" />
        </button>
        <h2>New {word}</h2>
        <span class="pill plain">Not saved</span>
        <span class="grow" />
        <button type="button" class="icon hide-m" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <ItemEditor
        text={first.current}
        api={api}
        label={`New ${word}, JSON`}
        isReadOnly={false}
        beside={beside}
        onChange={setText}
        onReady={handle => {
          editor.current = handle
          handle?.view.focus()
          // Where the id goes, so that one can type at once.
          const at = first.current.indexOf('""')
          if (at !== -1) handle?.view.dispatch({ selection: { anchor: at + 1 } })
        }}
      />
      {error !== undefined && (
        <div class="pane-note">
          <Refusal error={error} />
        </div>
      )}
      <div class="ifoot">
        <span class="grow">
          {api === 'mongo'
            ? 'Extended JSON keeps every type. Without _id the server gives one.'
            : 'id and partition key cannot be changed later.'}
        </span>
        <button
          type="button"
          class="btn"
          onClick={() => {
            letGo()
            onClose()
          }}
        >
          Discard
        </button>
        <button type="button" class="btn pri" disabled={isSaving} onClick={save}>
          Create <span class="k">{keyText('mod+s')}</span>
        </button>
      </div>
    </section>
  )
}
