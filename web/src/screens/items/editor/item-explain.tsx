/** Above the editor: the sentence, the lifeline, and the quick actions that give an item another life. */

import { useState } from 'preact/hooks'
import { type NewLife, setLife } from '../../../api/calls.ts'
import { ApiError, messageOf } from '../../../api/client.ts'
import type { Container, ContainerName, WholeItem } from '../../../api/shapes.ts'
import { announce } from '../../../components/announce.tsx'
import { itemWord } from '../../../containers/words.ts'
import { mayWrite } from '../../../live/server-state.ts'
import { useKeys } from '../../../navigation/keyboard.ts'
import { spanText } from '../../../time/time-text.ts'
import { zone } from '../../../time/zone.ts'
import { type ExplainSentence, savingText } from './explain-text.ts'
import { Lifeline } from './lifeline.tsx'

interface ItemExplainProps {
  name: ContainerName
  container: Container
  item: WholeItem
  sentence: ExplainSentence
  nowMs: number
  isWide: boolean
  isDead: boolean
  /** Nobody knows when. */
  isDeleted: boolean
  isChanged: boolean
  /** Of the text in the editor. */
  ttl: number | null | undefined
  onItem: (item: WholeItem) => void
  onRefused: (error: unknown) => void
  onPending: (key: string | undefined) => void
}

const hourS = 3600

/** The life that a quick action gives, shown before the server has answered. */
function expected(
  set: NewLife,
  item: WholeItem,
  container: Container,
  nowMs: number,
): Pick<WholeItem, 'ts' | 'deadline'> {
  const ts = Math.floor(nowMs / 1000)
  if (set === 'never') return { ts, deadline: null }
  if (set === '+1h') return { ts, deadline: (item.deadline ?? ts) + hourS }
  const { defaultTtl } = container
  return { ts, deadline: defaultTtl !== null && defaultTtl > 0 ? ts + defaultTtl : null }
}

/** Why an action cannot be done now. */
function whyNot(
  set: NewLife,
  { item, container, isChanged }: Pick<ItemExplainProps, 'item' | 'container' | 'isChanged'>,
): string | undefined {
  if (!mayWrite.value) return 'A read-only key cannot write'
  if (isChanged) return 'Save or discard your changes first'
  if (container.defaultTtl === null) return 'Time to Live is Off'
  if (container.ttl.kind === 'date') return 'A date in the document says when it dies'
  if (set === '+1h' && item.deadline === null) return 'It never dies'
  if (set === 'never' && item.deadline === null && item.ttl === -1) return 'It never dies'
  if (set === 'inherit' && item.ttl === null) return 'It inherits already'
  return undefined
}

export function ItemExplain(props: ItemExplainProps) {
  const { name, container, item, sentence, nowMs, isWide, isDead, isDeleted, isChanged, ttl } = props
  const { onItem, onRefused, onPending } = props
  const [pending, setPending] = useState<Pick<WholeItem, 'ts' | 'deadline'>>()
  const [problem, setProblem] = useState<string>()
  const give = async (set: NewLife) => {
    if (pending || whyNot(set, props) !== undefined) return
    setProblem(undefined)
    setPending(expected(set, item, container, nowMs))
    onPending(item.key)
    try {
      const next = await setLife(name, item.key, set, item.etag)
      onItem(next)
      announce('Its life is changed')
    } catch (error) {
      // A conflict has its own screen; other refusals are said here, where the bar goes back.
      if (error instanceof ApiError && (error.status === 412 || error.status === 404)) onRefused(error)
      else setProblem(messageOf(error))
    }
    setPending(undefined)
    onPending(undefined)
  }
  useKeys({ 'alt+l': () => void give('+1h') })
  const { defaultTtl } = container
  const inheritLabel =
    defaultTtl !== null && defaultTtl > 0 && item.ttl !== null ? `Inherit ${spanText(defaultTtl)}` : 'Inherit'
  const actions: readonly { set: NewLife; label: string }[] = [
    { set: '+1h', label: '+1 h' },
    { set: 'never', label: 'Never' },
    { set: 'inherit', label: inheritLabel },
  ]
  const saving =
    isChanged && ttl !== null && !Number.isNaN(ttl) ? savingText(ttl, container, { nowMs, zone: zone() }) : undefined
  return (
    <div class={pending ? 'explain is-pending' : 'explain'}>
      <p class={isWide ? 'fs14' : ''}>
        <b>{sentence.lead}</b> {sentence.rest}
      </p>
      {/* Of a death under an earlier setting nobody knows the time. */}
      {!isDeleted && !(isDead && item.deadline === null) && (
        <Lifeline item={pending ?? item} api={container.api} nowMs={nowMs} isWide={isWide} />
      )}
      {!isDead && (
        <div class="quick">
          {isWide && <span class="t2 fs12">Let it live</span>}
          {actions.map(({ set, label }) => {
            const why = whyNot(set, props)
            return (
              <button
                key={set}
                type="button"
                class="btn sm"
                disabled={why !== undefined || pending !== undefined}
                title={why ?? (set === '+1h' ? `This ${itemWord(container.api)} lives one hour longer` : undefined)}
                onClick={() => void give(set)}
              >
                {label}
              </button>
            )
          })}
          {saving && (
            <>
              <span class="grow" />
              <span class="t2 fs12">
                {saving.rest} <b class="t1 m">{saving.lead}</b>
              </span>
            </>
          )}
        </div>
      )}
      {problem !== undefined && (
        <p class="danger fs12" role="alert">
          {problem}
        </p>
      )}
    </div>
  )
}
