/** The bar at the bottom of a part of the settings: what changed, and the buttons that end the change. */

import type { ComponentChildren } from 'preact'
import { mayWrite } from '../../live/server-state.ts'

interface SaveBarProps {
  isDirty: boolean
  /** Why it cannot be saved now. */
  problem?: string | undefined
  isSaving: boolean
  /** Said in the place of "One setting changed". */
  note?: ComponentChildren
  label?: string | undefined
  isDanger?: boolean | undefined
  onSave: () => void
  onDiscard: () => void
}

export function SaveBar(props: SaveBarProps) {
  const { isDirty, problem, isSaving, note, label = 'Save', isDanger = false, onSave, onDiscard } = props
  const why = mayWrite.value ? problem : 'This key may only read.'
  const hint = isDirty ? 'One setting changed. Nothing is written until you save.' : ''
  if (!isDirty && !note) return null
  return (
    <div class="savebar">
      <span class="t2 savebar-note" role="status">
        {note ?? hint}
      </span>
      <span class="grow hide-m" />
      {isDirty && (
        <>
          <button type="button" class="btn" disabled={isSaving} onClick={onDiscard}>
            Discard
          </button>
          <button
            type="button"
            class={`btn ${isDanger ? 'del' : 'pri'}`}
            disabled={isSaving || why !== undefined}
            title={why}
            onClick={onSave}
          >
            {isSaving ? 'Saving…' : label}
          </button>
        </>
      )}
    </div>
  )
}
