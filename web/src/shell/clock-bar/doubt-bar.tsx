/** The bar of a clock in doubt: why nothing is removed now, and the button that trusts the time. */

import { useEffect } from 'preact/hooks'
import { moveClock } from '../../api/container-calls.ts'
import type { Doubt } from '../../api/shapes.ts'
import { announce, announceNow } from '../../components/announce.tsx'
import { Confirm } from '../../components/confirm.tsx'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toasts.tsx'
import { mayWrite } from '../../live/server-state.ts'
import { showDialog } from '../../navigation/dialogs.ts'
import { itemNowMs } from '../../time/clock.ts'
import { durationText, fullTime } from '../../time/time-text.ts'
import { zone } from '../../time/zone.ts'
import './clock-bar.css'

/** What happened to the clock, in one sentence. */
function doubtSentence({ kind, since, aheadSeconds }: Doubt): string {
  const far = durationText(Math.max(0, aheadSeconds))
  if (kind === 'start') {
    return `This server started ${far} after its data was last used, or its clock is wrong.`
  }
  return `The clock of the server's machine jumped ${far} ahead at ${fullTime(since * 1000, itemNowMs(), zone())}.`
}

const meaning = `Reads follow the clock: what is dead by it is not shown. Nothing is removed because of it until the
time is sure, so a clock that comes back brings everything back.`

/** What a bar says: its title, what happened, and what that means. */
function doubtTexts(doubt: Doubt): { title: string; sentence: string; meaning: string } {
  const { endsAt, aheadSeconds } = doubt
  if (endsAt === undefined) return { title: 'The time is in doubt.', sentence: doubtSentence(doubt), meaning }
  const far = durationText(Math.max(0, aheadSeconds))
  return {
    title: `What died while the server was off is removed at ${fullTime(endsAt * 1000, itemNowMs(), zone())}.`,
    sentence: `It was off for ${far}. If that is right, nothing is wrong, and nothing has to be done.`,
    meaning: 'No read shows what is dead. The server only waits in case the clock of its machine is wrong.',
  }
}

export function DoubtBar({ doubt }: { doubt: Doubt }) {
  const { title, sentence, meaning } = doubtTexts(doubt)
  const isCalm = doubt.endsAt !== undefined
  useEffect(() => (isCalm ? announce : announceNow)(`${title} ${sentence}`), [doubt.kind, doubt.since, isCalm])
  return (
    <div class={isCalm ? 'alertbar doubtbar is-calm' : 'alertbar doubtbar'}>
      <span class={isCalm ? 't2' : 'danger'}>
        <Icon name={isCalm ? 'clock' : 'warning'} />
      </span>
      <p class="grow">
        <b class="b">{title}</b> <span class="t2">{sentence}</span> <span class="t2 hide-m">{meaning}</span>
      </p>
      {mayWrite.value && (
        <button
          type="button"
          class="btn sm"
          onClick={() => showDialog(close => <TrustTime doubt={doubt} onClose={close} />)}
        >
          Trust this time…
        </button>
      )}
    </div>
  )
}

function TrustTime({ doubt, onClose }: { doubt: Doubt; onClose: () => void }) {
  return (
    <Confirm
      title="Trust this time?"
      label="Trust this time"
      sendingLabel="Trusting…"
      keepLabel="Wait"
      onClose={onClose}
      run={async () => {
        await moveClock({ trust: true })
        showToast({ title: 'The time is trusted.', text: 'What is dead by it is removed now.' })
      }}
    >
      <p class="t2">{doubtSentence(doubt)}</p>
      <p class="t2">
        It is now <b class="t1">{fullTime(itemNowMs(), doubt.sure * 1000, zone())}</b> here; by what is sure it is at
        least {fullTime(doubt.sure * 1000, itemNowMs(), zone())}. If the first one is right, trust it: what is dead by
        it is removed for good. If it is wrong, correct the clock of the machine and wait.
      </p>
      {doubt.endsAt !== undefined && (
        <p class="t2">
          You need not do anything: at {fullTime(doubt.endsAt * 1000, itemNowMs(), zone())} the server trusts it by
          itself.
        </p>
      )}
    </Confirm>
  )
}
