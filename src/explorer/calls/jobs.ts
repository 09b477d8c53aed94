/** Jobs: lists and shows them, ends them, and lists the rows that they refused. */

import { nextSlice } from '../../base/slices.ts'
import { drained } from '../../base/slow-reader.ts'
import type { ApiAnswer, ApiCall } from '../http/call.ts'
import type { ExplorerService } from '../service/service.ts'

export async function listJobs({ jobs }: ExplorerService): Promise<ApiAnswer> {
  return { json: { jobs: jobs.all().map(job => job.show(false)) } }
}

export async function showJob({ jobs }: ExplorerService, { names }: ApiCall): Promise<ApiAnswer> {
  return { json: jobs.find(names[0]!).show() }
}

export async function endJob({ jobs }: ExplorerService, { names }: ApiCall): Promise<ApiAnswer> {
  jobs.find(names[0]!).cancel()
  return { status: 204 }
}

/** Refused rows that are sent at a time. */
const rowsAtOnce = 200

export async function showRefused({ jobs }: ExplorerService, { names, res, gone }: ApiCall): Promise<ApiAnswer> {
  const { refusals, id } = jobs.find(names[0]!)
  res.writeHead(200, {
    'content-type': 'application/x-ndjson; charset=utf-8',
    'content-disposition': `attachment; filename="${id}.refused.jsonl"`,
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  for (let at = 0; at < refusals.length && !gone.aborted; at += rowsAtOnce) {
    const lines = refusals.slice(at, at + rowsAtOnce).map(refusal => `${JSON.stringify(refusal)}\n`)
    if (res.write(lines.join(''))) await nextSlice()
    else await drained(res)
  }
  res.end()
  return 'streamed'
}
