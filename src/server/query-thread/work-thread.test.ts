/** Tests of a query thread that does not end what it is told to end. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { silentLog } from '../../base/log.ts'
import type { Ask } from './query-messages.ts'
import { ThreadLost, WorkThread } from './work-thread.ts'

/** Answers a checkpoint. Anything else holds it for ever, as one long call of the runtime would. */
const deaf = `
  const { parentPort } = require('node:worker_threads')
  parentPort.on('message', ({ number, ask }) => {
    if (ask.kind !== 'checkpoint') for (;;);
    parentPort.postMessage({ number, result: 'answered' })
  })
`
const lostForOthers = (error: unknown) => error instanceof ThreadLost && error.isForOthers
const endless = { kind: 'sort' } as Ask
const short = { kind: 'checkpoint' } as Ask

test('a thread that does not react is ended, others lose it, and the next question starts another', async () => {
  const started: Worker[] = []
  const warnings: string[] = []
  const start = () => {
    const worker = new Worker(deaf, { eval: true })
    started.push(worker)
    return worker
  }
  const log = { ...silentLog, warn: (_: object, message: string) => warnings.push(message) }
  await using thread = new WorkThread(start, log)
  assert.equal(await thread.ask(short), 'answered')

  const stop = new AbortController()
  const stopped = thread.ask(endless, { signal: stop.signal })
  const other = thread.ask(short)
  const reason = new Error('its time is over')
  stop.abort(reason)
  await assert.rejects(stopped, reason)
  assert.equal(thread.isIdle, false, 'it is still at work')
  const [exited] = await Promise.all([once(started[0]!, 'exit'), assert.rejects(other, lostForOthers)])
  assert.deepEqual(exited, [1])
  assert.deepEqual(warnings, ['a query thread did not end its work in time, and is ended itself'])
  assert.equal(thread.isIdle, true)

  assert.equal(await thread.ask(short), 'answered')
  assert.equal(started.length, 2)
})

test('a thread that ends its work in time is kept', async () => {
  const worker = new Worker(
    `
      const { parentPort } = require('node:worker_threads')
      parentPort.on('message', ({ number, end }) => {
        while (Atomics.load(end, 0) === 0);
        parentPort.postMessage({ number, error: { kind: 'internal', message: 'ended' } })
      })
    `,
    { eval: true },
  )
  await using thread = new WorkThread(() => worker, silentLog)
  for (let n = 0; n < 3; n++) {
    const stop = new AbortController()
    const stopped = thread.ask(endless, { signal: stop.signal })
    stop.abort(new Error('over'))
    await assert.rejects(stopped, /over/)
    while (!thread.isIdle) await once(worker, 'message')
  }
})
