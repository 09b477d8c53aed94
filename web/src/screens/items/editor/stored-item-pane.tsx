/** The pane of a stored item: explained, edited, saved against its etag, or found dead. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { deleteItem, explainItem, getItem, saveItem } from '../../../api/calls.ts'
import { ApiError, isAborted, messageOf } from '../../../api/client.ts'
import type { WholeItem } from '../../../api/shapes.ts'
import { announce, announceNow } from '../../../components/announce.tsx'
import { Confirm } from '../../../components/confirm.tsx'
import { copyText } from '../../../components/copy.tsx'
import { useLifeClock } from '../../../components/countdown.tsx'
import { Icon } from '../../../components/icon.tsx'
import { Refusal } from '../../../components/refusal.tsx'
import { showToast } from '../../../components/toasts.tsx'
import { countedItems, itemWord } from '../../../containers/words.ts'
import { onLive, reconnections } from '../../../live/connection.ts'
import { mayWrite } from '../../../live/server-state.ts'
import { showDialog } from '../../../navigation/dialogs.ts'
import { keyText } from '../../../navigation/key-caps.tsx'
import { useKeys } from '../../../navigation/keyboard.ts'
import { guardLeaving, letGo } from '../../../navigation/router.ts'
import { plainId } from '../../../text/id-text.ts'
import { bytesText, counted } from '../../../text/number-text.ts'
import { agoText, fullTime } from '../../../time/time-text.ts'
import { zone } from '../../../time/zone.ts'
import { ConflictView } from './conflict-view.tsx'
import { deletedSentence, explainSentence, unknownSentence } from './explain-text.ts'
import { ItemEditor, type ItemEditorHandle } from './item-editor.tsx'
import { ItemExplain } from './item-explain.tsx'
import type { Beside } from './item-extensions.ts'
import { ownTtl } from './item-text.ts'
import { changedLines } from './line-diff.ts'
import { mergeTexts } from './merge.ts'
import { startNewItem } from './new-item-pane.tsx'
import type { ItemPaneProps } from './pane-props.ts'
import { ttlHint } from './ttl-hint.ts'

/** The item as it is stored, or why there is none. */
type Loaded = { item: WholeItem } | { item?: undefined; error: unknown } | undefined

export function StoredItemPane(props: ItemPaneProps) {
  const { name, container, itemKey, onClose } = props
  const [loaded, setLoaded] = useState<Loaded>()
  useEffect(() => {
    if (loaded?.item) return
    const abort = new AbortController()
    getItem(name, itemKey, abort.signal).then(
      item => setLoaded({ item }),
      error => {
        if (!isAborted(error)) setLoaded({ error })
      },
    )
    return () => abort.abort()
    // An answer that never came is asked for again.
  }, [itemKey, reconnections.value])
  if (loaded?.item) return <LoadedItemPane {...props} first={loaded.item} />
  const isMissing = loaded && loaded.error instanceof ApiError && loaded.error.status === 404
  return (
    <section class="pane" aria-label={itemWord(container.api)}>
      <div class="ihead">
        <button type="button" class="icon onlym" aria-label="Back to the list" onClick={onClose}>
          <Icon name="back" />
        </button>
        {isMissing && <span class="pill dead">Gone</span>}
        <span class="grow" />
        <button type="button" class="icon hide-m" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      {isMissing && (
        <div class="explain">
          <p>
            <b>{unknownSentence.lead}</b> {unknownSentence.rest}
          </p>
        </div>
      )}
      {loaded && !isMissing && (
        <div class="pane-note">
          <Refusal error={loaded.error} />
        </div>
      )}
    </section>
  )
}

function LoadedItemPane(props: ItemPaneProps & { first: WholeItem }) {
  const { name, container, isWide, onClose, onWide, onSaved, onGone, onPending } = props
  const { api } = container
  const [item, setItem] = useState(props.first)
  const [text, setText] = useState(props.first.text)
  const [theirs, setTheirs] = useState<WholeItem>()
  const [error, setError] = useState<unknown>()
  const [isSaving, setSaving] = useState(false)
  const [isGone, setGone] = useState(false)
  const [isSystemOpen, setSystemOpen] = useState(false)
  const editor = useRef<ItemEditorHandle | undefined>(undefined)
  const word = itemWord(api)
  const isChanged = text !== item.text
  const nowMs = useLifeClock(item).value || item.ts * 1000
  const hasDied = item.isDead || (item.deadline !== null && item.deadline * 1000 <= nowMs)
  const isDeleted = isGone && !hasDied
  const isDead = isGone || hasDied
  /** By this pane: then nobody has to find out that it is gone. */
  const isDeleting = useRef(false)
  const latest = useRef({ item, isChanged, isGone })
  latest.current = { item, isChanged, isGone }

  useEffect(() => {
    if (!isChanged) return
    return guardLeaving(() => confirm(`${plainId(item.id)} has changes that are not saved. Leave it?`))
  }, [isChanged])

  /** The stored version is another one now; a text without changes follows it. */
  const take = (next: WholeItem, { keepText = false } = {}) => {
    setItem(next)
    if (keepText) return
    setText(next.text)
    editor.current?.setText(next.text)
  }
  useEffect(() => {
    const look = async () => {
      if (latest.current.isChanged) return
      const next = await getItem(name, item.key).catch(() => undefined)
      if (next && !latest.current.isChanged && next.etag !== latest.current.item.etag) take(next)
    }
    const lookIfGone = async () => {
      const found = await explainItem(name, item.key).catch(() => undefined)
      if (found?.state === 'unknown' && !isDeleting.current) leave()
    }
    let rows = container.living + container.dead
    const ends = [
      // No event tells which item was deleted or removed, only that there are fewer.
      onLive('counts', ({ containers }) => {
        const counted = containers.find(each => each.database === name.database && each.container === container.id)
        if (!counted) return
        if (counted.living + counted.dead < rows && !latest.current.isGone) void lookIfGone()
        rows = counted.living + counted.dead
      }),
      onLive('changes', ({ changes }) => {
        if (changes.some(({ key }) => key === item.key)) void look()
      }),
      onLive(
        'catalog',
        () =>
          void getItem(name, item.key).then(
            next => take(next, { keepText: true }),
            () => {},
          ),
      ),
      reconnections.subscribe(n => {
        if (n > 0) void look()
      }),
    ]
    return () => {
      for (const end of ends) end()
    }
  }, [item.key])

  const save = async (body: string, etag: string) => {
    if (isSaving || !mayWrite.peek()) return
    setSaving(true)
    setError(undefined)
    try {
      const next = await saveItem(name, item.key, body, etag)
      setTheirs(undefined)
      take(next)
      onSaved(next)
      announce(`${plainId(next.id)} is saved`)
    } catch (thrown) {
      refuse(thrown)
    }
    setSaving(false)
  }
  /** The server has it no more. If its time has not come, somebody has deleted it. */
  const leave = () => {
    setGone(true)
    onGone(item.key)
  }
  const refuse = (thrown: unknown) => {
    if (thrown instanceof ApiError && thrown.status === 412) {
      if (thrown.item) {
        setTheirs(thrown.item)
        // Two texts side by side need the room.
        onWide(true)
        announceNow(`Someone else saved ${plainId(item.id)} after you opened it`)
      } else leave()
      return
    }
    if (thrown instanceof ApiError && thrown.status === 404) {
      leave()
      return
    }
    setError(thrown)
    announceNow(`Not saved: ${messageOf(thrown)}`)
    if (thrown instanceof ApiError && thrown.line !== undefined) {
      editor.current?.showRefusal(thrown.message, thrown.line, thrown.column ?? 1)
    }
  }
  const discard = () => {
    setError(undefined)
    setText(item.text)
    editor.current?.setText(item.text)
  }
  useKeys({
    'mod+s': () => {
      if (isChanged && !isDead && !theirs && item.isExact) void save(text, item.etag)
    },
  })

  const changes = isChanged ? changedLines(item.text, text).places : 0
  const zoneNow = zone()
  if (theirs) {
    return (
      <section class="pane" aria-label={`Conflict in ${word} ${plainId(item.id)}`}>
        <PaneHead id={item.id} onClose={onClose} onBack={() => setTheirs(undefined)}>
          <span class="pill danger">Not saved</span>
          <span class="grow" />
        </PaneHead>
        <ConflictView
          merge={mergeTexts(item.text, theirs.text, text)}
          theirs={theirs}
          container={container}
          isSaving={isSaving}
          error={error}
          onKeepTheirs={() => {
            setTheirs(undefined)
            take(theirs)
            onSaved(theirs)
          }}
          onSaveMine={() => void save(text, theirs.etag)}
          onMerge={merged => void save(merged, theirs.etag)}
          onBack={() => setTheirs(undefined)}
        />
      </section>
    )
  }
  const beside: Beside = {
    stored: item.text,
    ttlHint: ttlHint({
      ttl: ownTtl(text),
      item,
      container,
      isChanged,
      nowMs: Math.floor(nowMs / 1000) * 1000,
      zone: zoneNow,
    }),
    system: Object.entries(item.system).map(([property, value]) => [property, JSON.stringify(value)] as const),
    isSystemOpen,
    onSystem: () => setSystemOpen(!isSystemOpen),
    writtenHint: `${fullTime(item.ts * 1000, nowMs, zoneNow)}, ${agoText(nowMs / 1000 - item.ts)}`,
    lockedName: api === 'mongo' ? '_id' : undefined,
  }
  const { isExact } = item
  const isReadOnly = isDead || !isExact || !mayWrite.value
  return (
    <section class="pane" aria-label={`${word} ${plainId(item.id)}`}>
      <PaneHead id={item.id} onClose={onClose} onBack={onClose}>
        {isDead ? (
          <span class="pill dead">{isDeleted ? 'Gone' : 'Dead'}</span>
        ) : item.deadline === null ? (
          <span class="pill never">Alive</span>
        ) : (
          <span class="pill life">Alive</span>
        )}
        {changes > 0 && <span class="pill plain">{counted(changes, 'change')}</span>}
        <span class="grow" />
        {isWide && container.partitionKey.length > 0 && (
          <span class="t3 hide-l nw fs12">
            {container.partitionKey.join(', ')}{' '}
            <span class="mono t2">
              {item.partitionKey.map(part => (typeof part === 'string' ? part : JSON.stringify(part))).join(', ')}
            </span>
          </span>
        )}
        <button
          type="button"
          class="icon"
          aria-label="Copy link"
          title="Copy link"
          onClick={() =>
            void copyText(location.href, 'Link').then(isCopied => isCopied && showToast({ title: 'Link copied.' }))
          }
        >
          <Icon name="link" />
        </button>
        <button
          type="button"
          class="icon hide-m"
          aria-label={isWide ? 'Show the list wide' : 'Open wide'}
          title={isWide ? 'Show the list wide' : 'Open wide'}
          aria-pressed={isWide}
          onClick={() => onWide(!isWide)}
        >
          <Icon name="columns" />
        </button>
      </PaneHead>
      <ItemExplain
        name={name}
        container={container}
        item={item}
        sentence={
          isDeleted
            ? deletedSentence(api)
            : explainSentence({ ...item, isDead, isGone }, container, item.explanation, { nowMs, zone: zoneNow })
        }
        nowMs={nowMs}
        isWide={isWide}
        isDead={isDead}
        isDeleted={isDeleted}
        isChanged={isChanged}
        ttl={ownTtl(text)}
        onItem={next => {
          take(next)
          onSaved(next)
        }}
        onRefused={refuse}
        onPending={onPending}
      />
      {isDead && (
        <div class="pane-note">
          <div class="note plain">
            <Icon name="info" />
            <span class="grow">
              This {word}{' '}
              {isDeleted || item.deadline === null
                ? 'is gone'
                : `died at ${fullTime(item.deadline * 1000, nowMs, zoneNow)}`}
              .{isExact && ` You can save it as a new ${word}.`}
            </span>
            {mayWrite.value && isExact && (
              <button type="button" class="btn sm" onClick={() => startNewItem(text)}>
                Save as new…
              </button>
            )}
          </div>
        </div>
      )}
      {!isExact && (
        <div class="pane-note">
          <div class="note plain">
            <Icon name="info" />
            <span class="grow">
              Read-only: this {word} holds what text cannot say exactly, for instance a field that is called $date.
              Saving the text would change it. Use a driver to change it.
            </span>
          </div>
        </div>
      )}
      <ItemEditor
        text={text}
        api={api}
        label={`${plainId(item.id)}, JSON`}
        isReadOnly={isReadOnly}
        beside={beside}
        onChange={setText}
        onReady={handle => {
          editor.current = handle
        }}
      />
      {error !== undefined && (
        <div class="pane-note">
          <Refusal error={error} />
        </div>
      )}
      <div class="ifoot">
        <span class={isWide ? 'hide-l' : ''}>
          {api === 'mongo' && isExact ? 'Extended JSON keeps every type' : bytesText(item.bytes)}
        </span>
        <span class="grow" />
        {mayWrite.value && !isDead && (
          <>
            <button
              type="button"
              class={isWide ? 'btn txt dgr' : 'btn txt sm dgr'}
              onClick={() =>
                showDialog(close => (
                  <Confirm
                    title={`Delete ${plainId(item.id)}?`}
                    label={`Delete ${countedItems(1, api)}`}
                    onClose={close}
                    run={async () => {
                      isDeleting.current = true
                      try {
                        await deleteItem(name, item.key, latest.current.item.etag)
                      } catch (thrown) {
                        isDeleting.current = false
                        throw thrown
                      }
                      onGone(item.key)
                      letGo()
                      onClose()
                      showToast({ title: `${plainId(item.id)} is deleted.` })
                    }}
                  >
                    <p class="t2">
                      This deletes <b class="t1">1 living {word}</b> at once. It cannot be undone.
                    </p>
                  </Confirm>
                ))
              }
            >
              Delete
            </button>
            {isChanged && (
              <button type="button" class={isWide ? 'btn' : 'btn sm'} onClick={discard}>
                Discard
              </button>
            )}
            {isExact && (
              <button
                type="button"
                class={`btn${isChanged ? ' pri' : ''}${isWide ? '' : ' sm'}`}
                disabled={!isChanged || isSaving}
                title={isChanged ? undefined : 'Nothing has changed'}
                onClick={() => void save(text, item.etag)}
              >
                {isSaving ? 'Saving…' : 'Save'} <span class="k">{keyText('mod+s')}</span>
              </button>
            )}
          </>
        )}
      </div>
    </section>
  )
}

function PaneHead({
  id,
  onClose,
  onBack,
  children,
}: {
  id: string
  onClose: () => void
  onBack: () => void
  children: preact.ComponentChildren
}) {
  return (
    <div class="ihead">
      <button type="button" class="icon onlym" aria-label="Back to the list" onClick={onBack}>
        <Icon name="back" />
      </button>
      <h2 title={id}>{plainId(id)}</h2>
      {children}
      <button type="button" class="icon hide-m" aria-label="Close" onClick={onClose}>
        <Icon name="close" />
      </button>
    </div>
  )
}
