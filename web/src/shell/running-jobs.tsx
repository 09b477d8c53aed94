/** Imports and deletions that run now, in the status line. */

import { jobs } from '../live/server-state.ts'
import { count } from '../text/number-text.ts'

export function RunningJobs() {
  const running = [...jobs.value.values()].filter(({ state }) => state === 'running')
  return (
    <>
      {running.map(({ id, kind, database, container, done, total }) => (
        <span key={id} class="job">
          <span class="prog" aria-hidden="true">
            <i style={{ width: `${total ? Math.min(100, (done / total) * 100) : 0}%` }} />
          </span>
          {kind === 'import' ? 'Importing into' : 'Deleting from'} {database} / {container}: <b>{count(done)}</b>
        </span>
      ))}
    </>
  )
}
