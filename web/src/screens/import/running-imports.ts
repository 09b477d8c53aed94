/** Imports of this page: they go on when their dialog is closed, and can be gone on with after a stop. */

import { signal } from '@preact/signals'
import { cancelJob, getJob } from '../../api/calls.ts'
import { isAborted } from '../../api/client.ts'
import { importFile } from '../../api/container-calls.ts'
import type { ImportOptions } from '../../api/container-shapes.ts'
import type { ContainerName, Job } from '../../api/shapes.ts'
import { announce } from '../../components/announce.tsx'
import { showToast } from '../../components/toasts.tsx'
import { jobs, reloadTree } from '../../live/store.ts'
import { count } from '../../live/time-text.ts'

export type Choice = Pick<ImportOptions, 'format' | 'mode' | 'keepTtl'>

export interface RunningImport {
  readonly id: string
  readonly name: ContainerName
  readonly file: File
  readonly choice: Choice
  readonly controller: AbortController
}

/** By the id of the job. */
export const imports = signal<ReadonlyMap<string, RunningImport>>(new Map())
/** Why an import could not begin or go on, by the id of its job. */
export const failures = signal<ReadonlyMap<string, unknown>>(new Map())

function newId(): string {
  return `i${crypto.getRandomValues(new Uint32Array(2)).join('')}`
}

/** Starts to send a file; answers with the id of the job, by which everything else is found. */
export function startImport(name: ContainerName, file: File, choice: Choice, skip = 0): string {
  const id = newId()
  const controller = new AbortController()
  imports.value = new Map(imports.peek()).set(id, { id, name, file, choice, controller })
  const options = { job: id, name: file.name, ...choice, ...(skip > 0 && { skip }) }
  importFile(name, file, options, controller.signal).then(
    job => finish(job),
    error => {
      if (isAborted(error)) return
      failures.value = new Map(failures.peek()).set(id, error)
    },
  )
  return id
}

function finish(job: Job): void {
  jobs.value = new Map(jobs.peek()).set(job.id, job)
  void reloadTree().catch(() => {})
  const { state, written, refused } = job
  if (state !== 'done') return
  const text = `${count(written)} written${refused > 0 ? `, ${count(refused)} refused` : ''}.`
  announce(`Import finished: ${text}`)
  if (!document.querySelector('dialog[open]')) showToast({ title: `Imported into ${job.container}.`, text })
}

/** Ends an import; what is written stays. */
export async function stopImport(id: string): Promise<void> {
  await cancelJob(id).catch(() => {})
  imports.peek().get(id)?.controller.abort()
  // The last event may have been on its way: the job says where it ended.
  const job = await getJob(id).catch(() => undefined)
  if (job) jobs.value = new Map(jobs.peek()).set(id, job)
}
