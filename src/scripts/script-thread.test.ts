import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { MemoryScriptHost, testLinks } from '../../test/support/memory-script-host.ts'
import { runStoredProcedure } from '../../test/support/run-script.ts'
import { machine } from '../base/clock.ts'
import { CapacityError } from '../base/error.ts'
import { scriptCallsSentMax } from './execution.ts'
import type { HostAnswer } from './host.ts'
import { ScriptError } from './script-error.ts'
import { ScriptRunner } from './script-runner.ts'
import { scriptSliceMsMax } from './script-thread-link.ts'
import { scriptThreadsMax } from './script-turns.ts'
import { startThread } from './start-thread.ts'
import type { FromThread } from './thread-messages.ts'

const runner = new ScriptRunner()
after(() => runner[Symbol.asyncDispose]())

const msMax = 100

/** Time limit for scripts that end by themselves, enough for a slow machine. */
const patienceMs = 30_000

/** 'late', the text of the error, or the value. */
async function outcomeOf(script: string, msMax = patienceMs): Promise<unknown> {
  const run = { id: 'p', body: `() => { ${script} }`, links: testLinks, epochMs: 0, args: '[]' }
  try {
    const host = new MemoryScriptHost()
    return JSON.parse((await runStoredProcedure(runner, { ...run, host }, { msMax })).body)
  } catch (error) {
    if (error instanceof CapacityError) return error.kind === 'timed_out' ? 'late' : error.kind
    assert.ok(error instanceof ScriptError, String(error))
    return error.message
  }
}

const late = /^late$/
const memory = /out of memory|too long|too large|invalid (string|array|array buffer) length|^late$/
const stack = /stack overflow|^late$/

/** Either outcome stays within the limits; which one comes first depends on the machine. */
const attacks: readonly [what: string, script: string, expected: RegExp][] = [
  ['a loop', 'for (;;);', late],
  ['a loop that catches everything', 'for (;;) { try { for (;;); } catch {} finally { continue } }', late],
  ['a loop of promises', '(async () => { for (;;) await 1 })()', late],
  ['a loop of jobs', 'const job = () => Promise.resolve().then(job); job()', late],
  ['a loop in a comparison', '[3, 1, 2].sort(() => { for (;;); })', late],
  ['a loop in toString', 'throw { toString() { for (;;); } }', late],
  ['a loop in toJSON', '__.response.setBody({ toJSON() { for (;;); } })', late],
  ['a loop in a trap of the response object', '__.response.setBody(new Proxy({}, { ownKeys() { for (;;); } }))', late],
  [
    'searches that are longer than the time between two checks',
    'const a = new Array(1e6).fill(0); for (;;) a.indexOf(1)',
    late,
  ],
  ['comparisons of long texts', 'const a = "x".repeat(4e6), b = "x".repeat(4e6) + ""; for (;;) a < b', late],
  ['large numbers', 'const a = 3n ** 100000n; for (;;) a * a', late],
  ['a regular expression with exponential backtracking', '/(a+)+$/.test("a".repeat(50) + "b")', late],
  ['a regular expression with quadratic backtracking', '/(?=(a+))\\1b/.test("a".repeat(1e6))', late],
  ['recursion', '(function f() { return f() })()', stack],
  ['recursion that doubles', 'function f() { try { return f() + f() } catch { return f() } } f()', stack],
  ['recursion through built-ins', 'const f = () => [1].map(f); f()', stack],
  ['recursion through proxies', 'const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x', stack],
  ['deeply nested JSON', 'JSON.parse("[".repeat(1e6))', stack],
  ['a deep value', 'let a = []; for (let i = 0; i < 1e5; i++) a = [a]; JSON.stringify(a)', stack],
  ['a deep program', 'eval("(".repeat(1e6))', stack],
  ['a deep regular expression', 'new RegExp("(?:".repeat(1e5) + ")".repeat(1e5))', stack],
  ['endless arrays', 'const a = []; for (;;) a.push(new Array(1000).fill(1))', memory],
  ['endless functions, whose memory the engine does not count', 'let f = () => 1; for (;;) f = f.bind(null)', memory],
  ['endless texts', 'const a = []; for (;;) { try { for (;;) a.push("x".repeat(1e6) + a.length) } catch {} }', memory],
  ['a chain of promises that grows', 'const job = () => Promise.resolve().then(job); job()', memory],
  ['a text that doubles', 'let s = "x"; for (;;) s += s', memory],
  ['a huge text', '"x".repeat(2 ** 29)', memory],
  ['a huge buffer', 'new ArrayBuffer(2 ** 31)', memory],
  ['a huge array', 'new Array(2 ** 32 - 1).fill(0)', memory],
  ['a text split into a million pieces', '"a".repeat(1e7).split("")', memory],
]

test('attacks end within their limits, and the event loop keeps turning meanwhile', async context => {
  let turns = 0
  let isOver = false
  const count = (): void => {
    turns += 1
    if (!isOver) machine.setImmediate(count)
  }
  count()
  // One attack per thread at a time, so that the counted turns fall within it.
  const waiting = [...attacks]
  const attacker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [what, script, expected] = next
      await context.test(what, async () => {
        const before = turns
        const outcome = await outcomeOf(script, msMax)
        assert.match(String(outcome), expected)
        assert.ok(outcome !== 'late' || turns - before > 50, `${turns - before} turns`)
      })
    }
  }
  await Promise.all(Array.from({ length: scriptThreadsMax }, attacker))
  isOver = true
  assert.equal(await outcomeOf('__.response.setBody("fine")'), 'fine')
})

test('waiting calls do not block the event loop', async () => {
  let calls = 0
  let callsThisTurn = 0
  let callsInOneTurn = 0
  let isOver = false
  const count = (): void => {
    callsThisTurn = 0
    if (!isOver) machine.setImmediate(count)
  }
  count()
  const call = async (): Promise<HostAnswer> => {
    const startMs = machine.monotonicMs()
    while (machine.monotonicMs() - startMs < scriptSliceMsMax / 4);
    calls += 1
    callsThisTurn += 1
    callsInOneTurn = Math.max(callsInOneTurn, callsThisTurn)
    return { ok: { body: '{}', options: {} } }
  }
  const body = '() => { for (let i = 0; i < 1000; i++) if (!__.readDocument(__.getAltLink() + "/docs/a")) throw i }'
  const run = { id: 'p', body, links: testLinks, epochMs: 0, args: '[]' }
  await runStoredProcedure(runner, { ...run, host: { call } }, { msMax: patienceMs })
  isOver = true
  assert.equal(calls, 1000)
  // The call that ends a slice, and the first of a message that came in the same turn.
  assert.ok(callsInOneTurn <= 6, `${callsInOneTurn} calls in one turn`)
})

test('a script sends no more calls than the server can receive in one turn', async () => {
  const thread = startThread('script-thread', { workerData: new Int32Array(new SharedArrayBuffer(4)) })
  let calls = 0
  const { promise: ended, resolve: end } = Promise.withResolvers<FromThread>()
  thread.on('message', (received: FromThread) => {
    if (received.kind === 'call') calls += 1
    else if (received.kind === 'end') end(received)
  })
  const settings = JSON.stringify({ args: '[]', request: { body: '[]', values: {} }, links: testLinks, epochMs: 0 })
  const body = '() => { for (let i = 0; i < 1000; i++) __.readDocument(__.getAltLink() + "/docs/a"); throw "enough" }'
  thread.postMessage({ kind: 'run', run: 1, body, fileName: 'p.js', settings, msMax: patienceMs })
  assert.match(JSON.stringify(await ended), /enough/)
  await thread.terminate()
  assert.equal(calls, scriptCallsSentMax)
})

describe('scripts cannot leave the sandbox', () => {
  const cases: readonly [what: string, script: string, expected: RegExp][] = [
    ['through constructors', 'this.constructor.constructor("return process")()', /'process' is not defined/],
    [
      'through constructors of host objects',
      'getContext.constructor("return globalThis")().process.exit()',
      /cannot read property 'exit' of undefined/,
    ],
    [
      'through errors',
      'try { null.x } catch (e) { e.constructor.constructor("return require")()("fs") }',
      /'require' is not defined/,
    ],
    [
      'through arguments of callers',
      'function f() { return f.caller } __.response.setBody(f() === null || f() === undefined)',
      /^true|TypeError/,
    ],
    [
      'through import',
      'import("node:fs").then(() => __.response.setBody("loaded"), () => __.response.setBody("refused"))',
      /^refused$/,
    ],
  ]
  for (const [what, script, expected] of cases) {
    test(what, async () => assert.match(String(await outcomeOf(script)), expected))
  }

  test('and see nothing of the outside', async () => {
    const names = [
      'process',
      'require',
      'module',
      'setTimeout',
      'setImmediate',
      'queueMicrotask',
      'fetch',
      'WebAssembly',
      'Buffer',
      'std',
      'os',
      'host',
      'parentPort',
      'performance',
      'print',
    ]
    const script = `__.response.setBody(${JSON.stringify(names)}.filter(name => name in globalThis))`
    assert.deepEqual(await outcomeOf(script), [])
  })

  test('one run leaves nothing behind for the next', async () => {
    const pollution = `
      Object.prototype.polluted = 1; Array.prototype.push = () => { throw 1 }; JSON.parse = () => 'fake'; String = null
      getContext = () => 'fake'; globalThis.left = 1; Error = Date = null; Object.freeze(Object.prototype)
      Math.random = () => 4`
    await outcomeOf(pollution)
    const found = '({}).polluted, globalThis.left, typeof getContext(), Math.random() === 4, String(1)'
    const script = `__.response.setBody([${found}])`
    assert.deepEqual(await outcomeOf(script), [null, null, 'object', false, '1'])
  })

  test("a script that changes the guest's tools harms only itself", async () => {
    const scripts = [
      'JSON.stringify = () => "{"; __.createDocument(__.getSelfLink(), { id: "1" })',
      'JSON.stringify = () => ({ length: -1 }); __.response.setBody(1)',
      'Array.prototype.push = Array.prototype.shift = () => { throw 1 }; __.readDocuments(__.getSelfLink(), () => {})',
      'Object.defineProperty(Object.prototype, "text", { get() { return "x" } }); __.response.setBody(1)',
      'Object.defineProperty(Object.prototype, "then", { get() { for (;;); } }); (async () => {})()',
      'Map.prototype.get = () => { throw 1 }; __.response.setBody(1)',
    ]
    for (const script of scripts) await outcomeOf(script)
    assert.equal(await outcomeOf('__.response.setBody("fine")'), 'fine')
  })
})
