/** Imports of this page: they go on when their dialog is closed, and can be gone on with after a stop. */

import { signal } from '@preact/signals'
import { cancelJob, getJob } from '../../api/calls.ts'
import { isAborted, NoAnswerError } from '../../api/client.ts'
import { importFile } from '../../api/container-calls.ts'
import type { ImportOptions } from '../../api/container-shapes.ts'
import type { ContainerName, Job } from '../../api/shapes.ts'
import { announce } from '../../components/announce.tsx'
import { showToast } from '../../components/toasts.tsx'
import { jobs, reloadTree } from '../../live/server-state.ts'
import { count } from '../../text/number-text.ts'

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
      setFailure(id, error)
      if (error instanceof NoAnswerError) void askEnd(id).then(job => job && finish(job))
    },
  )
  return id
}

function setFailure(id: string, error: unknown): void {
  const all = new Map(failures.peek())
  if (error === undefined) all.delete(id)
  else all.set(id, error)
  failures.value = all
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
  await askEnd(id)
}

/** How long until the server is asked again. */
const askEveryMs = 1000

/**
 * Ends the job, if it runs, and asks until it has ended: what the last event said may be old, and a row that
 * is sent again would be written again. undefined: the server cannot say how far it came.
 */
async function askEnd(id: string): Promise<Job | undefined> {
  for (;;) {
    try {
      await cancelJob(id)
      const job = await getJob(id)
      if (job.state !== 'running') {
        jobs.value = new Map(jobs.peek()).set(id, job)
        setFailure(id, undefined)
        return job
      }
    } catch (error) {
      if (!(error instanceof NoAnswerError)) {
        setFailure(id, error)
        return undefined
      }
    }
    await new Promise(resolve => setTimeout(resolve, askEveryMs))
  }
}
