/** What "dead but present" means, how long it lasts, and the button that ends it now. */

import { useEffect, useState } from 'preact/hooks'
import { purgeNow } from '../../api/calls.ts'
import { messageOf } from '../../api/client.ts'
import type { Container, ContainerName, ContainerWork } from '../../api/shapes.ts'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toasts.tsx'
import { countedItems } from '../../containers/words.ts'
import { onLive } from '../../live/connection.ts'
import { isPurgePaused, mayWrite } from '../../live/server-state.ts'
import { aboutText } from '../../time/time-text.ts'

/** When the purge will be done, by what it removed in the last second. */
function endText(dead: number, work: ContainerWork | undefined, isPaused: boolean): string {
  if (isPaused) return 'The purge is paused.'
  const rate = work?.removed ?? 0
  const when = rate > 0 ? `, in about ${aboutText(Math.max(1, dead / rate))}` : ''
  return `The purge removes them with RU that requests leave over${when}.`
}

export function DeadBar({
  name,
  container,
  onPurged,
}: {
  name: ContainerName
  container: Container
  onPurged: () => void
}) {
  const [work, setWork] = useState<ContainerWork>()
  const [isRunning, setRunning] = useState(false)
  useEffect(() => onLive('load', setWork), [])
  const { dead, api } = container
  if (dead === 0) return null
  const purge = async () => {
    setRunning(true)
    try {
      const { removed } = await purgeNow(name)
      showToast({
        title: `${countedItems(removed, api)} removed.`,
        text: 'They were dead already: no read has changed.',
      })
      onPurged()
    } catch (error) {
      showToast({ title: 'The purge was refused.', text: messageOf(error), kind: 'failed' })
    }
    setRunning(false)
  }
  return (
    <div class="toolbar dead-bar">
      <span class="dead">
        <Icon name="info" />
      </span>
      <span class="grow">
        <b class="b">
          {container.isAbout && 'About '}
          {countedItems(dead, api)} {dead === 1 ? 'is' : 'are'} dead and not yet removed.
        </b>{' '}
        <span class="t2">
          No read, query or count sees {dead === 1 ? 'it' : 'them'}. {endText(dead, work, isPurgePaused.value)}
        </span>
      </span>
      <button
        type="button"
        class="btn sm"
        disabled={isRunning || !mayWrite.value}
        title={mayWrite.value ? undefined : 'A read-only key cannot remove'}
        onClick={purge}
      >
        Remove {dead === 1 ? 'it' : 'them'} now
      </button>
    </div>
  )
}
