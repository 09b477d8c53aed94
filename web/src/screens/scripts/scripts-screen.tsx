/** The scripts of a container: stored procedures, triggers, user-defined functions. */

import { useEffect, useState } from 'preact/hooks'
import { isAborted } from '../../api/client.ts'
import { getScript, getScripts } from '../../api/container-calls.ts'
import type { Script, ScriptKind, ScriptList } from '../../api/container-shapes.ts'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { reconnections } from '../../live/connection.ts'
import { mayWrite } from '../../live/server-state.ts'
import { useWatch } from '../../live/use-watch.ts'
import { letGo, setParams } from '../../navigation/router.ts'
import { addressOf } from '../../navigation/routes.ts'
import type { ScreenProps } from '../screen-props.ts'
import { RunPanel } from './run-panel.tsx'
import { ScriptEditor } from './script-editor.tsx'
import { kinds, kindTitle } from './script-words.ts'
import './scripts.css'

interface Opened {
  kind: ScriptKind
  script: Script
}

export function ScriptsScreen({ route, container }: ScreenProps) {
  const { database, params } = route
  const name = { database, container: route.container }
  const kind = kinds.find(each => each === params.kind) ?? 'procedures'
  const wanted = params.script
  const isNew = params.new === '1'
  const [list, setList] = useState<ScriptList | undefined>()
  const [opened, setOpened] = useState<Opened | undefined>()
  const [error, setError] = useState<unknown>()
  const [isDirty, setDirty] = useState(false)
  useWatch(route)
  const loadList = async () => {
    try {
      setList(await getScripts(name))
      setError(undefined)
    } catch (thrown) {
      setError(thrown)
    }
  }
  useEffect(() => void loadList(), [database, route.container, reconnections.value])
  useEffect(() => {
    if (wanted === undefined || isNew) {
      setOpened(undefined)
      return
    }
    if (opened?.kind === kind && opened.script.id === wanted) return
    let isWanted = true
    setOpened(undefined)
    getScript(name, kind, wanted).then(
      script => {
        if (!isWanted) return
        setError(undefined)
        setOpened({ kind, script })
      },
      thrown => {
        if (isWanted && !isAborted(thrown)) setError(thrown)
      },
    )
    return () => {
      isWanted = false
    }
  }, [kind, wanted, isNew, reconnections.value])
  // A window with room shows the first script at once.
  useEffect(() => {
    if (!list || wanted !== undefined || isNew || matchMedia('(max-width: 900px)').matches) return
    const first = kinds.find(each => list[each].length > 0)
    if (first) setParams({ kind: first, script: list[first][0]!.id })
  }, [list, wanted, isNew])
  const shown = opened && opened.kind === kind && opened.script.id === wanted ? opened : undefined
  const pane = params.pane === 'run' && shown ? 'run' : shown || isNew ? 'code' : 'list'
  if (!list) return error === undefined ? <div class="scripts" aria-busy="true" /> : <Refusal error={error} />
  const isEmpty = kinds.every(each => list[each].length === 0)
  return (
    <div class="scripts" data-pane={pane}>
      <nav class="script-list" aria-label="Scripts">
        {kinds.map(each => (
          <div key={each}>
            <h3>{kindTitle[each]}</h3>
            {list[each].length === 0 && <p class="none">none</p>}
            {list[each].map(({ id, type }) => (
              <a
                key={id}
                class="trow"
                href={addressOf({ ...route, params: { kind: each, script: id } })}
                aria-current={shown?.kind === each && shown.script.id === id ? 'page' : undefined}
              >
                <Icon name="events" />
                <span class="n mono">{id}</span>
                <span class="c">{type?.toLowerCase()}</span>
              </a>
            ))}
          </div>
        ))}
        {mayWrite.value && (
          <button
            type="button"
            class="btn sm"
            onClick={() => setParams({ new: '1', kind, script: undefined, pane: undefined }, { replace: false })}
          >
            <Icon name="add" small />
            New script
          </button>
        )}
      </nav>
      <div class="script-body">
        {error !== undefined && <Refusal error={error} />}
        {(shown || isNew) && (
          <ScriptEditor
            key={isNew ? 'new' : `${kind} ${wanted} ${shown!.script.etag}`}
            name={name}
            kind={kind}
            script={isNew ? undefined : shown!.script}
            list={list}
            onSaved={(savedKind, script) => {
              letGo()
              setOpened({ kind: savedKind, script })
              void loadList()
              setDirty(false)
              if (isNew) setTimeout(() => setParams({ new: undefined, kind: savedKind, script: script.id }))
            }}
            onDeleted={() => {
              letGo()
              setOpened(undefined)
              // Otherwise it is the first of the list, and would be opened.
              setList({ ...list, [kind]: list[kind].filter(({ id }) => id !== wanted) })
              setParams({ kind: undefined, script: undefined, pane: undefined })
              void loadList()
            }}
            onKind={next => setParams({ kind: next })}
            onDirty={setDirty}
            onBack={() =>
              setParams({ kind: undefined, script: undefined, new: undefined, pane: undefined }, { replace: false })
            }
            onRun={() => setParams({ pane: 'run' }, { replace: false })}
          />
        )}
        {!shown && !isNew && isEmpty && (
          <div class="script-none">
            <p>No scripts yet. A stored procedure changes several items in one transaction, next to the data.</p>
          </div>
        )}
      </div>
      <aside class="script-run" aria-label="Run">
        <div class="toolbar onlym">
          <button
            type="button"
            class="icon"
            aria-label="Back to the code"
            onClick={() => setParams({ pane: undefined })}
          >
            <Icon name="back" />
          </button>
          <b class="mono">{shown?.script.id}</b>
        </div>
        {shown && (
          <RunPanel
            key={`${kind} ${wanted}`}
            name={name}
            container={container}
            kind={kind}
            script={shown.script}
            isDirty={isDirty}
          />
        )}
      </aside>
    </div>
  )
}
