/** The bar of the manual clock: the time that stands, and the buttons that move it. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { isAborted, messageOf } from '../../api/client.ts'
import { getClock, getImpact, moveClock } from '../../api/container-calls.ts'
import type { Impact } from '../../api/container-shapes.ts'
import type { Died } from '../../api/shapes.ts'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toasts.tsx'
import { lastStep, mayWrite } from '../../live/server-state.ts'
import { useCommands } from '../../navigation/commands.ts'
import { useKeys } from '../../navigation/keyboard.ts'
import { counted } from '../../text/number-text.ts'
import { eachSecond, itemNowMs, jumps } from '../../time/clock.ts'
import { durationText, longTime } from '../../time/time-text.ts'
import './clock-bar.css'
import { advancedText, aheadText, momentText, parseMoment, perContainer } from './clock-words.ts'

const steps = [
  { advance: '1m', label: '+1 m', name: '1 minute', keys: 'alt+m' },
  { advance: '1h', label: '+1 h', name: '1 hour', keys: 'alt+h' },
  { advance: '1d', label: '+1 d', name: '1 day', keys: 'alt+d' },
] as const

const typingMs = 250
/** The machine's time goes on while this one stands. */
const aheadMs = 10_000

type Step = NonNullable<typeof lastStep.value>

/** Where this page has moved the clock to. */
let ownStep = 0
/** Steps that came while a call of this page was under way: its answer says which one is its own. */
let undecided: Step[] | undefined

function tellStep(seconds: number, died: Died): void {
  const text = perContainer(died)
  showToast({ title: advancedText(seconds, died), ...(text && { text: `${text}.` }) })
}

/** Tells every page how many items died by a step of the clock, also of a step by another user. */
function useStepToasts(): void {
  const seen = useRef(lastStep.peek())
  useEffect(
    () =>
      lastStep.subscribe(step => {
        if (!step || step === seen.current) return
        seen.current = step
        if (undecided) undecided.push(step)
        else tellForeign(step)
      }),
    [],
  )
}

/** Who moves it here is told by the answer, which was counted before anybody could be removed. */
function tellForeign({ from, to, died }: Step): void {
  if (to !== ownStep) tellStep(to - from, died)
}

/** Seconds by which item time is ahead of the machine's. */
function useAhead(): number | undefined {
  const [ahead, setAhead] = useState<number | undefined>()
  const jump = jumps.value
  useEffect(() => {
    const ask = () => {
      getClock().then(
        ({ nowMs, machineMs }) => setAhead(Math.round((nowMs - machineMs) / 1000)),
        () => {},
      )
    }
    ask()
    const timer = setInterval(() => {
      if (!document.hidden) ask()
    }, aheadMs)
    return () => clearInterval(timer)
  }, [jump])
  return ahead
}

export function ClockBar() {
  const [isSending, setSending] = useState(false)
  const [isSetting, setSetting] = useState(false)
  const [hovered, setHovered] = useState<string | undefined>()
  const ahead = useAhead()
  useStepToasts()
  const move = async (body: { advance: string } | { set: number }): Promise<string | undefined> => {
    if (isSending) return undefined
    setSending(true)
    setHovered(undefined)
    undecided = []
    // The page hears of its own last step a little later.
    const from = Math.max(ownStep, Math.floor(itemNowMs() / 1000))
    try {
      const { now, died } = await moveClock(body)
      ownStep = now
      tellStep(now - from, died)
      return undefined
    } catch (error) {
      return messageOf(error)
    } finally {
      undecided?.forEach(tellForeign)
      undecided = undefined
      setSending(false)
    }
  }
  const advance = async (by: string) => {
    const problem = await move({ advance: by })
    if (problem !== undefined) showToast({ kind: 'failed', title: 'The clock was not moved.', text: problem })
  }
  useKeys(mayWrite.value ? Object.fromEntries(steps.map(step => [step.keys, () => void advance(step.advance)])) : {})
  useCommands(
    mayWrite.value
      ? [
          ...steps.map(step => ({
            id: `clock ${step.advance}`,
            label: `Advance the clock by ${step.name}`,
            icon: 'clock' as const,
            keys: step.keys,
            run: () => void advance(step.advance),
          })),
          { id: 'clock set', label: 'Set the clock…', icon: 'clock' as const, run: () => setSetting(true) },
        ]
      : [],
    [mayWrite.value],
  )
  return (
    <section class="clockbar" aria-label="Manual clock">
      <span class="never">
        <Icon name="clock" />
      </span>
      <time class="now">{longTime(eachSecond.value, 'UTC')} UTC</time>
      <span class="t2 hide-s">{ahead === undefined ? 'Manual clock' : aheadText(ahead)}</span>
      {mayWrite.value && (
        <div class="steps">
          <span class="t2">Advance</span>
          <div class="clock-steps">
            {steps.map(({ advance: by, label, name }) => (
              <span
                key={by}
                class="clock-step"
                onPointerEnter={() => setHovered(by)}
                onPointerLeave={() => setHovered(undefined)}
              >
                <button
                  type="button"
                  class="btn"
                  aria-label={`${label}: advance the clock by ${name}`}
                  disabled={isSending}
                  onFocus={() => setHovered(by)}
                  onBlur={() => setHovered(undefined)}
                  onClick={() => void advance(by)}
                >
                  {label}
                </button>
                {hovered === by && !isSetting && <ImpactTip step={{ advance: by }} />}
              </span>
            ))}
            <span class="clock-step">
              <button
                type="button"
                class="btn"
                aria-haspopup="dialog"
                aria-expanded={isSetting}
                disabled={isSending}
                onClick={() => setSetting(!isSetting)}
              >
                Set…
              </button>
              {isSetting && <SetClock move={move} onClose={() => setSetting(false)} />}
            </span>
          </div>
        </div>
      )}
    </section>
  )
}

/** Who would die by a step; asked again when the clock has moved. */
function useImpact(step: { advance: string } | { to: number } | undefined, waitMs: number) {
  const [answer, setAnswer] = useState<{ key: string; impact: Impact } | undefined>()
  const key = JSON.stringify([step, jumps.value])
  useEffect(() => {
    if (!step) return
    const controller = new AbortController()
    const timer = setTimeout(async () => {
      try {
        setAnswer({ key, impact: await getImpact(step, controller.signal) })
      } catch (error) {
        if (!isAborted(error)) setAnswer(undefined)
      }
    }, waitMs)
    return () => {
      clearTimeout(timer)
      controller.abort()
    }
  }, [key])
  return answer?.key === key ? answer.impact : undefined
}

function Deaths({ impact }: { impact: Impact | undefined }) {
  if (!impact) return <>Counting…</>
  if (impact.total === 0) return <>Nothing dies.</>
  return (
    <>
      <b class="danger b">
        {impact.isAbout && 'About '}
        {counted(impact.total, 'item')} {impact.total === 1 ? 'dies' : 'die'}
      </b>
      : {perContainer(impact)}.
    </>
  )
}

function ImpactTip({ step }: { step: { advance: string } }) {
  const impact = useImpact(step, 80)
  return (
    <span class="clock-impact" role="status">
      <Deaths impact={impact} />
    </span>
  )
}

interface SetClockProps {
  move: (body: { set: number }) => Promise<string | undefined>
  onClose: () => void
}

function SetClock({ move, onClose }: SetClockProps) {
  const [text, setText] = useState(() => momentText(itemNowMs() + 3_600_000))
  const [refusal, setRefusal] = useState<string | undefined>()
  const root = useRef<HTMLDivElement>(null)
  const now = Math.floor(itemNowMs() / 1000)
  const moment = parseMoment(text)
  const problem =
    refusal ??
    (moment === undefined
      ? 'Write a time in UTC, for instance 2026-11-15 15:00:00.'
      : moment <= now
        ? 'The clock only goes forward.'
        : undefined)
  const impact = useImpact(problem === undefined ? { to: moment! } : undefined, typingMs)
  useEffect(() => {
    const opener = document.activeElement
    const field = root.current!.querySelector('input')!
    field.focus()
    field.select()
    const closeOutside = (event: PointerEvent) => {
      if (!root.current?.parentElement?.contains(event.target as Node)) onClose()
    }
    document.addEventListener('pointerdown', closeOutside)
    return () => {
      document.removeEventListener('pointerdown', closeOutside)
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  const set = async () => {
    if (problem !== undefined) return
    const refused = await move({ set: moment! })
    if (refused === undefined) onClose()
    else setRefusal(refused)
  }
  return (
    <div
      ref={root}
      class="clock-set"
      role="dialog"
      aria-label="Set the clock"
      onKeyDown={event => {
        if (event.key !== 'Escape') return
        event.stopPropagation()
        onClose()
      }}
    >
      <h2>Set the clock</h2>
      <form
        class="clock-set-row"
        onSubmit={event => {
          event.preventDefault()
          void set()
        }}
      >
        <span class={problem === undefined ? 'field' : 'field bad'}>
          <input
            value={text}
            aria-label="Time in UTC"
            aria-invalid={problem !== undefined}
            aria-describedby="clock-set-about"
            autocomplete="off"
            spellcheck={false}
            onInput={event => {
              setText(event.currentTarget.value)
              setRefusal(undefined)
            }}
          />
        </span>
        <button type="submit" class="btn pri" disabled={problem !== undefined}>
          Set
        </button>
      </form>
      <p id="clock-set-about" class={problem === undefined ? '' : 'danger'} role="status">
        {problem ?? (
          <>
            Moves {durationText(moment! - now)} forward. <Deaths impact={impact} />
          </>
        )}
      </p>
      <p class="t3">The clock only goes forward. What dies stays dead.</p>
    </div>
  )
}
