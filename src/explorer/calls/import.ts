/**
 * Import of a file that the page uploads. The file is read as it arrives and written as it is read, so its
 * size does not matter: a slow writer holds the upload back.
 */

import { CapacityError, RequestError } from '../../base/error.ts'
import { ImportWriter } from '../../engine/import-writer.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { importRows } from '../../transfer/import-rows.ts'
import { formats, InputError } from '../../transfer/input.ts'
import { keepTtlModes } from '../../transfer/keep-ttl.ts'
import { type ReadOptions, readRows } from '../../transfer/read-rows.ts'
import { importModes } from '../../transfer/target.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import { choiceOf, wholeParameter } from '../http/fields.ts'
import type { Job } from '../service/jobs.ts'
import type { ExplorerService } from '../service/service.ts'
import { requireContainer } from './containers.ts'

export async function importFile(service: ExplorerService, call: ApiCall): Promise<ApiAnswer> {
  const container = await requireContainer(service, call)
  const { query, req } = call
  const format = choiceOf(query.get('format'), 'format', ['auto', ...formats], 'auto')
  const mode = choiceOf(query.get('mode'), 'mode', importModes, 'create')
  const keepTtl = choiceOf(query.get('keepTtl'), 'keepTtl', keepTtlModes, 'remaining')
  const skip = wholeParameter(query, 'skip', { min: 0, max: Number.MAX_SAFE_INTEGER, otherwise: 0 })
  if (!/^application\/octet-stream\s*(;|$)/i.test(req.headers['content-type'] ?? '')) {
    throw new RequestError('malformed', 'The file is the body: content-type: application/octet-stream.')
  }
  const edge = await service.imports.edgeOf(container, keepTtl)
  const job = service.jobs.begin('import', container.database.id, container.id, query.get('job') ?? undefined)
  const length = Number(req.headers['content-length'])
  job.beginAt(skip)
  job.progress.bytesTotal = Number.isSafeInteger(length) && length > 0 ? length : null
  call.gone.addEventListener('abort', () => job.cancel(), { once: true })
  const writer = new ImportWriter(service.engine, edge, { mode, signal: job.signal })
  const options = format === 'auto' ? {} : { format }
  await run(service, container, job, { call, writer, options, skip })
  service.counts.forget()
  // Reads and drops what is left of a file that was given up.
  req.resume()
  return { json: job.show() }
}

interface Parts {
  readonly call: ApiCall
  readonly writer: ImportWriter
  readonly options: Pick<ReadOptions, 'format'>
  /** Rows that are done already. */
  readonly skip: number
}

async function run(
  service: ExplorerService,
  container: ContainerRecord,
  job: Job,
  { call, writer, options, skip }: Parts,
): Promise<void> {
  const { progress } = job
  const source = {
    name: call.query.get('name') ?? 'file',
    open: () => call.req as AsyncIterable<Buffer>,
  }
  const onBytes = (bytes: number) => {
    progress.bytesDone = bytes
  }
  try {
    await importRows(behind(readRows(source, { ...options, onBytes }), skip), writer, {
      signal: job.signal,
      onBatch: ({ counts, refused }, { rows, end }) => {
        progress.done = end.rows
        progress.written += counts.created + counts.replaced
        progress.skipped += counts.skipped
        progress.dead += counts.dead
        const byLine = new Map(rows.map(row => [row.line, row]))
        for (const { line, reason } of refused) {
          const text = byLine.get(line)?.bytes.toString('utf8', 0, shownBytesMax)
          job.refuse({ line, message: reason, text })
        }
        if (progress.bytesTotal !== null && progress.bytesDone > 0) {
          progress.total = Math.round((progress.done * progress.bytesTotal) / progress.bytesDone)
          progress.isTotalAbout = progress.bytesDone < progress.bytesTotal
        }
        job.moved()
      },
    })
    job.end()
  } catch (error) {
    const isExpected = error instanceof RequestError || error instanceof CapacityError || error instanceof InputError
    if (!isExpected && !job.signal.aborted) {
      service.log.error({ error, container: container.id }, 'an import failed in a way it should not')
    }
    job.end(isExpected || job.signal.aborted ? error : new Error('The server failed. Its log says why.'))
  }
}

/** How much of a refused row is shown. */
const shownBytesMax = 10_000

/** The batches, without the rows that are done already. */
async function* behind<Batch extends { readonly rows: readonly unknown[]; readonly from: number }>(
  batches: AsyncIterable<Batch>,
  skip: number,
): AsyncGenerator<Batch> {
  for await (const batch of batches) {
    const left = skip - batch.from
    if (left <= 0) yield batch
    else if (left < batch.rows.length) yield { ...batch, rows: batch.rows.slice(left), from: skip }
  }
}
