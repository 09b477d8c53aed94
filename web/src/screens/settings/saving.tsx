/** Saves a part of the settings: the call, the message afterwards, and the bar with the buttons. */

import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { announce } from '../../components/announce.tsx'
import { useSending } from '../../components/sending.ts'
import { mayWrite } from '../../live/server-state.ts'
import { guardLeaving } from '../../navigation/router.ts'
import { SaveBar } from './save-bar.tsx'

interface SavingProps {
  isDirty: boolean
  /** Why it cannot be saved now. */
  problem: string | undefined
  label?: string
  /** Saving ends something. */
  isDanger?: boolean
  put: () => Promise<void>
  onDiscard: () => void
}

interface Saving {
  save: () => void
  bar: JSX.Element
  error: unknown
  /** What is typed has changed: neither the note nor the refusal is about it. */
  forget: () => void
}

export function useSaving({ isDirty, problem, label, isDanger, put, onDiscard }: SavingProps): Saving {
  const { isSending, error, send, forget } = useSending()
  const [note, setNote] = useState<string | undefined>()
  useEffect(
    () =>
      isDirty ? guardLeaving(() => confirm('The settings have a change that is not saved. Leave it?')) : undefined,
    [isDirty],
  )
  const save = async () => {
    if (!isDirty || problem !== undefined || !mayWrite.value || !(await send(put))) return
    setNote('Saved.')
    announce('Saved.')
  }
  const forgetAll = () => {
    setNote(undefined)
    forget()
  }
  const discard = () => {
    forgetAll()
    onDiscard()
  }
  return {
    save: () => void save(),
    bar: (
      <SaveBar
        isDirty={isDirty}
        problem={problem}
        isSaving={isSending}
        label={label}
        isDanger={isDanger}
        note={note}
        onSave={() => void save()}
        onDiscard={discard}
      />
    ),
    error,
    forget: forgetAll,
  }
}
