/** Shows a conflict: the text that another user saved and the user's own side by side, and the choices. */

import type { Container, WholeItem } from '../../../api/shapes.ts'
import { CodeLine } from '../../../components/code-view.tsx'
import { Icon } from '../../../components/icon.tsx'
import { Refusal } from '../../../components/refusal.tsx'
import { itemWord } from '../../../containers/words.ts'
import { counted } from '../../../text/number-text.ts'
import { itemNowMs } from '../../../time/clock.ts'
import { fullTime } from '../../../time/time-text.ts'
import { zone } from '../../../time/zone.ts'
import { ownTtl } from './item-text.ts'
import type { DiffRow, LineMark, Merge } from './merge.ts'
import { ttlHint } from './ttl-hint.ts'

interface ConflictViewProps {
  merge: Merge
  theirs: WholeItem
  container: Container
  isSaving: boolean
  /** Why the last attempt to save was refused. */
  error: unknown
  onKeepTheirs: () => void
  onSaveMine: () => void
  onMerge: (text: string) => void
  onBack: () => void
}

/** More changes than this have no short name. */
const namesMax = 2

function mergeLabel({ conflicts, onlyTheirs, myNames }: Merge): string {
  const mine = myNames.length > 0 && myNames.length <= namesMax ? `your ${myNames.join(' and ')}` : 'your changes'
  return conflicts === 0 && onlyTheirs === 0 ? `Save ${mine}` : `Merge: theirs plus ${mine}`
}

/** `One line differs on both sides; two changes are only theirs.` */
function summaryOf({ conflicts, onlyTheirs, onlyMine }: Merge): string {
  const parts = [
    conflicts > 0 && `${counted(conflicts, 'place differs', 'places differ')} on both sides`,
    onlyTheirs > 0 && `${counted(onlyTheirs, 'change is', 'changes are')} only theirs`,
    onlyMine > 0 && `${counted(onlyMine, 'change is', 'changes are')} only yours`,
  ].filter(part => part !== false)
  return parts.length > 0 ? `${parts.join('; ')}.` : 'Both texts are the same.'
}

const theirClass: Readonly<Record<LineMark, string>> = { same: '', theirs: 'th', mine: '', both: 'cf' }
const myClass: Readonly<Record<LineMark, string>> = { same: '', theirs: '', mine: 'me', both: 'cf' }

function Side({ rows, side, hint }: { rows: readonly DiffRow[]; side: 'theirs' | 'mine'; hint: string | undefined }) {
  const marks = side === 'theirs' ? theirClass : myClass
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard.
    <section class="code df" aria-label={side === 'theirs' ? 'Their version' : 'Your version'} tabIndex={0}>
      {rows.map((row, index) => {
        const line = row[side]
        if (!line) {
          return (
            <div key={index} class="l gap" aria-hidden="true">
              <i />
              <span />
            </div>
          )
        }
        return (
          <div key={index} class={`l ${marks[row.mark]}`}>
            <i>{line.number}</i>
            <span>
              <CodeLine text={line.text} language="json" />
              {hint && /^ {2}"ttl":/.test(line.text) && <span class="hint">{hint}</span>}
            </span>
          </div>
        )
      })}
    </section>
  )
}

export function ConflictView({
  merge,
  theirs,
  container,
  isSaving,
  error,
  onKeepTheirs,
  onSaveMine,
  onMerge,
  onBack,
}: ConflictViewProps) {
  const nowMs = itemNowMs()
  const savedAt = fullTime(theirs.ts * 1000, nowMs, zone())
  const hint = ttlHint({ ttl: ownTtl(theirs.text), item: theirs, container, isChanged: false, nowMs, zone: zone() })
  const dies = hint?.text.replace(/, in .*/, '')
  const { merged } = merge
  return (
    <>
      <div class="conflict-say">
        <div class="note danger" role="alert">
          <Icon name="warning" />
          <span>
            <b class="b">
              Someone else saved this {itemWord(container.api)} at {savedAt}, after you opened it.
            </b>{' '}
            <span class="t2">Nothing of yours was written. {summaryOf(merge)}</span>
          </span>
        </div>
      </div>
      {error !== undefined && (
        <div class="pane-note">
          <Refusal error={error} />
        </div>
      )}
      <div class="diff">
        <div>
          <h3>
            <b>Theirs</b> saved {savedAt} <span class="grow" />
            <button type="button" class="btn sm" onClick={onKeepTheirs}>
              Keep theirs
            </button>
          </h3>
          <Side rows={merge.rows} side="theirs" hint={dies} />
        </div>
        <div>
          <h3>
            <b>Yours</b> not saved <span class="grow" />
            <button type="button" class="btn sm" disabled={isSaving} onClick={onSaveMine}>
              Save yours over it
            </button>
          </h3>
          <Side rows={merge.rows} side="mine" hint={undefined} />
        </div>
      </div>
      <div class="ifoot">
        <span class="hide-s">
          <b class="danger">!</b> both changed
        </span>
        <span class="hide-s">
          <b class="info">~</b> only theirs
        </span>
        <span class="hide-s">
          <b class="ok">~</b> only yours
        </span>
        <span class="grow" />
        <button type="button" class="btn txt" onClick={onBack}>
          Back to editing
        </button>
        {merged !== undefined && (
          <button type="button" class="btn pri" disabled={isSaving} onClick={() => onMerge(merged)}>
            {mergeLabel(merge)}
          </button>
        )}
      </div>
    </>
  )
}
