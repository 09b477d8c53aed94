import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { MemoryScriptHost, testLinks } from '../../test/support/memory-script-host.ts'
import { machine } from '../base/clock.ts'
import { CapacityError } from '../base/error.ts'
import { type ScriptCaller, ScriptRunner, type ScriptRuns } from './script-runner.ts'
import {
  scriptRestAfterMs,
  scriptRunsOfContainerMax,
  scriptRunsWaitingMax,
  scriptSlicesMs,
  scriptThreadsMax,
} from './script-turns.ts'

const runner = new ScriptRunner()
after(() => runner[Symbol.asyncDispose]())

const endless = 'for (;;);'
/** Longer than the first slices. Time passes also where a busy machine gives the script none. */
const ownMs = scriptSlicesMs[1]! + 50
const long = `const start = Date.now(); while (Date.now() - start < ${ownMs}); __.response.setBody("long")`

function run(runs: ScriptRuns, script: string): Promise<unknown> {
  const host = new MemoryScriptHost()
  const stored = { id: 'p', body: `() => { ${script} }`, links: testLinks, host, epochMs: 0, args: '[]' }
  return runs.runStoredProcedure(stored).then(({ body }) => JSON.parse(body))
}

function inTurn(script: string, caller: Partial<ScriptCaller> = {}): Promise<unknown> {
  return runner.inTurn({ path: ['container', 'key', {}], ...caller }, runs => run(runs, script))
}

const kindOf = (error: unknown) => (error instanceof CapacityError ? error.kind : String(error))

test('threads end when no script has run for a while, and the next script starts one again', async t => {
  await using quiet = new ScriptRunner()
  const rests: (() => void)[] = []
  const { setTimeout } = machine
  t.mock.method(machine, 'setTimeout', (work: () => void, ms: number) => {
    if (ms === scriptRestAfterMs) rests.push(work)
    return setTimeout(work, ms)
  })
  const terminate = t.mock.method(Worker.prototype, 'terminate')
  const one = () => quiet.inTurn({ path: ['container'] }, runs => run(runs, '__.response.setBody(1)'))
  for (let n = 0; n < 2; n++) {
    assert.equal(await one(), 1)
    assert.equal(terminate.mock.callCount(), n, 'a thread that was just used is kept')
    rests.at(-1)!()
    while (terminate.mock.callCount() === n) await new Promise(resolve => setImmediate(resolve))
  }
  // A thread that ends late must not take the place of the next one.
  const running = one()
  await terminate.mock.calls.at(-1)!.result
  assert.deepEqual([await running, await one()], [1, 1])
  assert.equal(terminate.mock.callCount(), 2)
})

describe('turns of scripts', () => {
  test('a short script ends while twenty endless ones of others have all been waiting for longer', async () => {
    let ended = 0
    const leaving = new AbortController()
    const loops = Array.from({ length: 20 }, (_, n) =>
      inTurn(endless, { path: [n % 2, n, {}], gone: leaving.signal, msMax: 60_000 }).catch(() => {
        ended += 1
      }),
    )
    assert.equal(await inTurn('__.response.setBody(1)'), 1)
    assert.equal(ended, 0)
    for (let n = 0; n < 20; n++) assert.equal(await inTurn('__.response.setBody(1)'), 1)
    leaving.abort(new Error('gone'))
    await Promise.all(loops)
  })

  test('a script that was displaced is done again from the start, and gets through', async () => {
    let begun = 0
    const longRuns = Array.from({ length: scriptThreadsMax + 2 }, (_, n) =>
      runner.inTurn({ path: ['container', n, {}], msMax: 60_000 }, async runs => {
        begun += 1
        const value = await run(runs, long)
        runs.finish()
        return value
      }),
    )
    assert.deepEqual(new Set(await Promise.all(longRuns)), new Set(['long']))
    assert.ok(begun > longRuns.length, `${begun} runs`)
  })

  test('what was finished is not done again', async () => {
    let done = 0
    const { promise: isFinished, resolve: finished } = Promise.withResolvers<void>()
    const { promise: othersEnded, resolve: endOthers } = Promise.withResolvers<void>()
    const finishing = runner.inTurn({ path: ['a'] }, async runs => {
      runs.finish()
      done += 1
      finished()
      await othersEnded
      throw new Error('the commit failed')
    })
    const failed = assert.rejects(finishing, /the commit failed/)
    await isFinished
    await Promise.all(Array.from({ length: scriptThreadsMax + 1 }, () => inTurn(long, { msMax: 60_000 })))
    endOthers()
    await failed
    assert.equal(done, 1)
  })

  test('a caller that leaves ends its script, running or waiting, and its work cannot be finished', async () => {
    const callers = Array.from({ length: scriptThreadsMax + 3 }, () => new AbortController())
    const reason = new Error('gone')
    let isFinished = false
    const { promise: isRunning, resolve: running } = Promise.withResolvers<void>()
    const runs = callers.map(({ signal }, n) =>
      runner.inTurn({ path: ['container', n], gone: signal, msMax: 60_000 }, async turn => {
        running()
        await run(turn, endless)
        isFinished = true
      }),
    )
    const results = Promise.allSettled(runs)
    await isRunning
    for (const caller of callers) caller.abort(reason)
    for (const result of await results) assert.ok(result.status === 'rejected' && result.reason === reason)
    assert.ok(!isFinished)
    assert.equal(await inTurn('__.response.setBody(1)'), 1)

    const left = new AbortController()
    const finishing = runner.inTurn({ path: ['container'], gone: left.signal }, async turn => {
      await run(turn, '')
      left.abort(reason)
      turn.finish()
    })
    await assert.rejects(finishing, error => error === reason)
  })

  test('nobody waits behind too many; one container leaves places to the others', async () => {
    const leaving = new AbortController()
    const flood = (container: string, count: number) =>
      Array.from({ length: count }, () =>
        inTurn(endless, { path: [container], gone: leaving.signal, msMax: 60_000 }).catch(kindOf),
      )
    const first = flood('first', scriptThreadsMax + scriptRunsOfContainerMax)
    assert.equal(await inTurn('', { path: ['first'] }).catch(kindOf), 'throttled')
    assert.equal(await inTurn('__.response.setBody(1)', { path: ['second'] }), 1)
    const second = flood('second', scriptRunsOfContainerMax)
    const more = flood('third', scriptRunsWaitingMax)
    assert.equal(await inTurn('', { path: ['third'] }).catch(kindOf), 'throttled')
    leaving.abort(new Error('gone'))
    await Promise.all([...first, ...second, ...more])
  })
})

describe('time limits', () => {
  const late: readonly [what: string, script: string][] = [
    [
      'work that the engine does not look into, and that ends by itself',
      'const a = new Array(1e6).fill(0), s = Date.now(); while (Date.now() - s < 150) a.indexOf(1)',
    ],
    [
      'a chain of promises with such work',
      'const a = new Array(1e6).fill(0), s = Date.now(); ' +
        'const job = () => { a.indexOf(1); if (Date.now() - s < 150) return Promise.resolve().then(job) }; job()',
    ],
    ['a chain of promises that catches its end', 'const f = () => { Promise.resolve().then(f).catch(f) }; f()'],
    ['an asynchronous loop that catches its end', '(async () => { for (;;) try { for (;;) await 1 } catch {} })()'],
  ]
  for (const [what, script] of late) {
    test(`hold for ${what}`, async () => {
      let isFinished = false
      const running = runner.inTurn({ path: [what], msMax: 100 }, async runs => {
        await run(runs, script)
        runs.finish()
        isFinished = true
      })
      await assert.rejects(running, error => kindOf(error) === 'timed_out')
      assert.ok(!isFinished)
    })
  }

  test('hold for all scripts of a turn together, between them, and until the work is finished', async () => {
    const wait = 'const s = Date.now(); while (Date.now() - s < 60);'
    const running = runner.inTurn({ path: [], msMax: 100 }, async runs => {
      await run(runs, wait)
      await run(runs, wait)
    })
    await assert.rejects(running, error => kindOf(error) === 'timed_out')
    const idling = runner.inTurn({ path: [], msMax: 50 }, async runs => {
      await run(runs, '')
      await new Promise(resolve => runs.signal.addEventListener('abort', resolve))
      runs.finish()
    })
    await assert.rejects(idling, error => kindOf(error) === 'timed_out')
  })
})
