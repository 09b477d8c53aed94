/** Deletes selected rows, or all that match, after asking with their count; then watches the job. */

import { deleteItems, getJob } from '../../api/calls.ts'
import { ApiError } from '../../api/client.ts'
import type { Api, ContainerName, Filter, Job } from '../../api/shapes.ts'
import { Confirm } from '../../components/confirm.tsx'
import { showToast } from '../../components/toasts.tsx'
import { countedItems, itemsWord } from '../../containers/words.ts'
import { onLive } from '../../live/connection.ts'
import { showDialog } from '../../navigation/dialogs.ts'
import { count } from '../../text/number-text.ts'
import type { Selection } from './selection.ts'

interface DeleteItems {
  name: ContainerName
  api: Api
  selection: Selection
  query: string
  filter: Filter
  /** How many match, as the user sees it. */
  total: number
  onDone: () => void
}

/** Asks now and then too: the live connection may be lost meanwhile. */
const askEveryMs = 2000

/** Waits until the job has ended. */
function ended(job: Job): Promise<Job> {
  if (job.state !== 'running') return Promise.resolve(job)
  return new Promise(resolve => {
    const finish = (news: Job) => {
      if (news.id !== job.id || news.state === 'running') return
      stop()
      clearInterval(timer)
      resolve(news)
    }
    const stop = onLive('job', finish)
    const timer = setInterval(() => void getJob(job.id).then(finish, () => {}), askEveryMs)
  })
}

function report(job: Job, api: Api): void {
  const skipped = job.skipped > 0 ? `${count(job.skipped)} had died or were deleted meanwhile.` : ''
  if (job.state === 'done') showToast({ title: `${countedItems(job.written, api)} deleted.`, text: skipped })
  else {
    const title = job.state === 'canceled' ? 'The deletion was ended.' : 'The deletion failed.'
    showToast({ title, text: `${count(job.written)} were deleted. ${job.message ?? ''}`, kind: 'failed' })
  }
}

export function openDeleteItems({ name, api, selection, query, filter, total, onDone }: DeleteItems): void {
  const n = selection.count(total)
  const what = countedItems(n, api)
  const { state } = selection
  showDialog(close => (
    <Confirm
      title={`Delete ${what}?`}
      keepLabel={n === 1 ? 'Keep it' : 'Keep them'}
      label={`Delete ${what}`}
      {...(state.kind === 'all' && query === '' && filter === 'all' && { typed: name.container })}
      onClose={close}
      run={async () => {
        try {
          const job = await deleteItems(
            name,
            state.kind === 'keys' ? { keys: [...state.keys] } : { query, filter, expect: total },
          )
          void ended(job).then(last => {
            report(last, api)
            onDone()
          })
        } catch (error) {
          const now = error instanceof ApiError ? error.body.count : undefined
          if (typeof now !== 'number') throw error
          throw new Error(`Now ${count(now)} match, not ${count(total)}. Nothing is deleted. Look at them again.`)
        }
      }}
    >
      <p class="t2">
        This deletes{' '}
        <b class="t1">
          {state.kind === 'all' ? `all ${count(n)} living ${itemsWord(api)}` : what}
          {state.kind === 'all' && query !== '' && ' that match'}
        </b>{' '}
        from {name.database} / {name.container} at once. It cannot be undone.
      </p>
      {state.kind === 'all' && query !== '' && <p class="mono fs12 t2">{query}</p>}
    </Confirm>
  ))
}
