/** One change: what happened, why, and the version that it made or ended. */

import { useEffect, useState } from 'preact/hooks'
import { explainItem } from '../../api/calls.ts'
import type { Api, Change, ContainerName } from '../../api/shapes.ts'
import { CodeView } from '../../components/code-view.tsx'
import { Icon } from '../../components/icon.tsx'
import { addressOf } from '../../navigation/routes.ts'
import { itemNowMs } from '../../time/clock.ts'
import { fullTime } from '../../time/time-text.ts'
import { zone } from '../../time/zone.ts'
import { kindLook, whatHappened } from './change-words.ts'

interface ChangePaneProps {
  name: ContainerName
  change: Change
  api: Api
  onClose: () => void
}

export function ChangePane({ name, change, api, onClose }: ChangePaneProps) {
  const { kind, id, key, lsn, ts, text, previousText, isCut } = change
  const [sentence, setSentence] = useState<string | undefined>()
  useEffect(() => {
    setSentence(undefined)
    if (kind === 'delete' || kind === 'died') return
    explainItem(name, key).then(
      ({ explanation }) => setSentence(explanation),
      () => {},
    )
  }, [lsn])
  const time = (seconds: number) => fullTime(seconds * 1000, itemNowMs(), zone())
  const isOver = kind === 'died' || kind === 'delete'
  const version = isOver ? previousText || text : text
  const titles = { create: 'First version', replace: 'New version', delete: 'Last version', died: 'Last version' }
  return (
    <aside class="pane" aria-label={`Change ${lsn}`}>
      <div class="ihead">
        <button type="button" class="icon onlym" aria-label="Back to the feed" onClick={onClose}>
          <Icon name="back" />
        </button>
        <h2 title={id}>{id}</h2>
        <span class={`pill ${kindLook[kind]}`}>{kind}</span>
        <span class="grow" />
        <button type="button" class="icon" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </div>
      <div class="explain">
        <p>
          <b>{headline(change, time)}</b> {whatHappened(change, time)}.
        </p>
        {sentence && <p class="t2">Now: {sentence}</p>}
      </div>
      {version ? (
        <>
          <div class="feed-version">
            <b class="b">{titles[kind]}</b> <span class="t2">lsn {lsn}</span>
            {isCut && <span class="t2">cut after 20,000 characters</span>}
          </div>
          <div class="feed-pane-text">
            <CodeView text={pretty(version)} language="json" label={`${titles[kind]} of ${id}`} isNarrow />
          </div>
        </>
      ) : (
        <p class="explain t2">The feed holds no text of it.</p>
      )}
      <div class="ifoot">
        {kind === 'died' ? (
          <span>
            In the feed this delete carries{' '}
            <code class="mono t1">{api === 'mongo' ? 'mayflyExpired: true' : 'timeToLiveExpired'}</code>.
          </span>
        ) : (
          <span>{time(ts)}</span>
        )}
        <span class="grow" />
        {!isOver && (
          <a class="btn sm" href={addressOf({ name: 'container', ...name, screen: 'items', params: { item: key } })}>
            Open
          </a>
        )}
      </div>
    </aside>
  )
}

function headline({ kind, ts, deadline }: Change, time: (seconds: number) => string): string {
  if (kind === 'died') return `Died at ${time(deadline ?? ts)}:`
  const words = { create: 'Created', replace: 'Written', delete: 'Deleted' }
  return `${words[kind]} at ${time(ts)}:`
}

/** The text as it is stored, indented. Digits stay as they are: nothing is parsed that would change. */
function pretty(text: string): string {
  if (text.includes('\n')) return text
  try {
    const printed = JSON.stringify(JSON.parse(text), null, 2)
    return JSON.stringify(JSON.parse(printed)) === text ? printed : text
  } catch {
    return text
  }
}
