/** The bar of a clock in doubt: why nothing is removed now, and the button that trusts the time. */

import { useEffect, useState } from 'preact/hooks'
import { messageOf } from '../api/client.ts'
import { moveClock } from '../api/container-calls.ts'
import type { Doubt } from '../api/shapes.ts'
import { showDialog } from '../app/dialogs.ts'
import { zone } from '../app/zone.ts'
import { announceNow } from '../components/announce.tsx'
import { Dialog } from '../components/dialog.tsx'
import { Icon } from '../components/icon.tsx'
import { Refusal } from '../components/refusal.tsx'
import { showToast } from '../components/toasts.tsx'
import { itemNowMs } from '../live/clock.ts'
import { mayWrite } from '../live/store.ts'
import { durationText, fullTime } from '../live/time-text.ts'
import './clock-bar.css'

/** What happened to the clock, in one sentence. */
export function doubtSentence({ kind, since, aheadSeconds }: Doubt): string {
  const far = durationText(Math.max(0, aheadSeconds))
  if (kind === 'start') {
    return `This server started ${far} after its data was last used, or its clock is wrong.`
  }
  return `The clock of the server's machine jumped ${far} ahead at ${fullTime(since * 1000, itemNowMs(), zone())}.`
}

const meaning =
  'Reads follow the clock: what is dead by it is not shown. Nothing is removed because of it until the time is sure, so a clock that comes back brings everything back.'

export function DoubtBar({ doubt }: { doubt: Doubt }) {
  const sentence = doubtSentence(doubt)
  useEffect(() => announceNow(`The time is in doubt. ${sentence}`), [doubt.kind, doubt.since])
  return (
    <div class="alertbar doubtbar">
      <span class="danger">
        <Icon name="warning" />
      </span>
      <p class="grow">
        <b class="b">The time is in doubt.</b> <span class="t2">{sentence}</span>{' '}
        <span class="t2 hide-m">{meaning}</span>
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
  const [isSending, setSending] = useState(false)
  const [error, setError] = useState<unknown>()
  const trust = async () => {
    setSending(true)
    try {
      await moveClock({ trust: true })
      showToast({ title: 'The time is trusted.', text: 'What is dead by it is removed now.' })
      onClose()
    } catch (thrown) {
      setError(thrown)
      setSending(false)
    }
  }
  return (
    <Dialog
      title="Trust this time?"
      width={500}
      isAlert
      onClose={onClose}
      footer={
        <>
          <button type="button" class="btn" data-autofocus onClick={onClose}>
            Wait
          </button>
          <button type="button" class="btn del" disabled={isSending} onClick={trust}>
            Trust this time
          </button>
        </>
      }
    >
      <div class="confirm">
        <p class="t2">{doubtSentence(doubt)}</p>
        <p class="t2">
          It is now <b class="t1">{fullTime(itemNowMs(), doubt.sure * 1000, zone())}</b> here; by what is sure it is at
          least {fullTime(doubt.sure * 1000, itemNowMs(), zone())}. If the first one is right, trust it: what is dead by
          it is removed for good. If it is wrong, correct the clock of the machine and wait.
        </p>
      </div>
      {error !== undefined && <Refusal error={error} message={messageOf(error)} />}
    </Dialog>
  )
}
