import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { MemoryScriptHost, testLinks } from '../../test/support/memory-script-host.ts'
import { runStoredProcedure, runTrigger } from '../../test/support/run-script.ts'
import { machine } from '../base/clock.ts'
import { CapacityError, InvariantError } from '../base/error.ts'
import { scriptWritesMax } from './execution.ts'
import type { HostAnswer, HostCall, ScriptHost } from './host.ts'
import { ScriptError } from './script-error.ts'
import { ScriptRunner, scriptResponseCharsMax } from './script-runner.ts'

const runner = new ScriptRunner()
after(() => runner[Symbol.asyncDispose]())

const epochMs = 1_700_000_000_000

async function execute(
  body: string,
  host: ScriptHost = new MemoryScriptHost(),
  args: readonly unknown[] = [],
  msMax = 5000,
) {
  const run = { id: 'proc', body, links: testLinks, host, epochMs, args: JSON.stringify(args) }
  const outcome = await runStoredProcedure(runner, run, { msMax })
  return { value: JSON.parse(outcome.body), log: outcome.log }
}

async function failure(body: string, host?: ScriptHost): Promise<ScriptError> {
  const error = await execute(body, host).catch(thrown => thrown)
  assert.ok(error instanceof ScriptError, String(error))
  return error
}

describe('a script is a function', () => {
  const bodies: readonly [what: string, body: string][] = [
    ['a named function', 'function sum(a, b) { __.response.setBody(a + b) }'],
    ['a function without a name', 'function (a, b) { __.response.setBody(a + b) }'],
    ['an arrow', '(a, b) => { __.response.setBody(a + b) }'],
    ['an asynchronous function', 'async function (a, b) { await null; __.response.setBody(a + b) }'],
    ['a function followed by a semicolon and a comment', 'function (a, b) { __.response.setBody(a + b) }; // end'],
    ['a function with comments before it', '/// <reference />\n// sum\nfunction (a, b) { __.response.setBody(a + b) }'],
    [
      'several functions',
      'function main(a, b) { __.response.setBody(add(a, b)) }\nfunction add(a, b) { return a + b }',
    ],
    ['a function that calls itself', 'function f(a, b) { b ? f(a + 1, b - 1) : __.response.setBody(a) }'],
  ]
  for (const [what, body] of bodies) {
    test(what, async () => assert.equal((await execute(body, undefined, [1, 2])).value, 3))
  }

  const others: readonly [what: string, body: string, message: RegExp][] = [
    ['nothing', '', /^Encountered exception while compiling Javascript\. Exception = SyntaxError: /],
    [
      'a query',
      'SELECT * FROM c',
      /line: 1, column: 50, source line:\r\n\(function __docDbMain\(\) \{ var fn = SELECT \*/,
    ],
    ['a method', 'method() { return 1 }', /^Encountered exception while compiling Javascript\./],
    [
      'a broken function',
      'function () {\n  This is no code!\n}',
      /line: 2, column: \d+, source line:\r\n {2}This is no code!/,
    ],
    ['an import', 'import fs from "fs"', /^Encountered exception while compiling Javascript\./],
  ]
  for (const [what, body, message] of others) {
    test(`${what} is not a script`, async () => {
      const error = await failure(body)
      assert.match(error.message, message)
      assert.equal(error.number, 65_535)
    })
  }

  test('a value is not a function, which shows when it is called', async () => {
    assert.match((await failure('5')).message, /Exception = TypeError: The body of the script is not a function/)
  })
})

describe('the response', () => {
  const bodies: readonly [what: string, body: string, expected: unknown][] = [
    ['is an empty text when it is not set', 'function () {}', ''],
    ['is what was set last', '() => { for (let i = 0; i < 1000; i++) __.response.setBody(i) }', 999],
    ['can be read', '() => { __.response.setBody({ a: 1 }); __.response.setBody(__.response.getBody().a + 1) }', 2],
    [
      'is appended to as a text',
      '() => { for (let i = 0; i < 10; i++) getContext().getResponse().appendValue("Body", i) }',
      '0123456789',
    ],
    ['is appended to according to its type', '() => { __.response.setBody(1); __.response.appendBody(2) }', 3],
    [
      'keeps every kind of JSON',
      '() => { __.response.setBody({ a: [1.5, null, true, "é\\u0000\\ud83d", { "__proto__": 1 }] }) }',
      {
        a: [1.5, null, true, 'é\u0000\ud83d', {}],
      },
    ],
    [
      'has no inherited values',
      '() => { try { __.response.setValue("Test", 1) } catch (e) { __.response.setBody(e.number + e.message) } }',
      '400Cannot set new values: Test',
    ],
  ]
  for (const [what, body, expected] of bodies) {
    test(what, async () => assert.deepEqual((await execute(body)).value, expected))
  }

  const tooLarge = /Resulting message would be too large because of "Body"/
  test('is limited, and after an error the script can continue with the old body', async () => {
    const body = `() => {
      __.response.setBody('x')
      try { for (;;) __.response.appendBody('y'.repeat(100000)) } catch (error) { __.response.setBody(error.number) }
    }`
    assert.equal((await execute(body)).value, 413)
    const error = await failure('() => { for (;;) __.response.appendBody("y".repeat(100000)) }')
    assert.match(error.message, tooLarge)
    assert.equal(error.number, 413)
  })

  test('is limited also when it grows after it was set', async () => {
    const size = 3 * scriptResponseCharsMax
    const body = `() => { const list = []; __.response.setBody(list); list.push('y'.repeat(${size})) }`
    assert.match((await failure(body)).message, tooLarge)
  })
})

describe('errors', () => {
  test('a thrown error has a message, a stack and a number', async () => {
    const error = await failure(
      'function outer() {\n  function inner() { throw new Error(404, "Nothing here") }\n  inner()\n}',
    )
    assert.equal(
      error.message,
      'Encountered exception while executing function. Exception = Error: Nothing here\r\n' +
        'Stack trace: Error: Nothing here\n   at inner (proc.js:2:37)\n   at outer (proc.js:3:8)',
    )
    assert.equal(error.number, 404)
    assert.equal(error.kind, 'malformed')
  })

  const thrown: readonly [body: string, text: string, number: number | undefined][] = [
    ['() => { throw new Error("plain") }', 'Error: plain', undefined],
    ['() => { throw "a text" }', 'a text', undefined],
    ['() => { throw undefined }', 'undefined', undefined],
    ['() => { throw { toString() { throw 1 } } }', 'an error that has no text', undefined],
    ['() => { throw new Error(-1, "odd") }', 'Error: odd', undefined],
    ['() => { null.x }', "TypeError: cannot read property 'x' of null", undefined],
    [
      '() => { class Mine extends Error { constructor() { super(1234, "mine"); this.name = "Mine" } } throw new ' +
        'Mine() }',
      'Mine: mine',
      1234,
    ],
    ['() => { JSON.stringify = () => "garbage"; throw new Error("x") }', 'an error that could not be read', undefined],
  ]
  for (const [body, text, number] of thrown) {
    test(`${body} is told as ${text}`, async () => {
      const error = await failure(body)
      assert.ok(
        error.message.startsWith(`Encountered exception while executing function. Exception = ${text}`),
        error.message,
      )
      assert.equal(error.number, number)
    })
  }

  test('a long text is cut', async () => {
    assert.ok((await failure('() => { throw new Error("x".repeat(1e6)) }')).message.length < 10_000)
  })

  test('an abort ends the script even if it catches errors, also from a promise', async () => {
    const host = new MemoryScriptHost()
    const caught = await failure(
      '() => { try { getContext().abort(new Error(409, "stop")) } catch {} __.createDocument(__.getSelfLink(), {}) }',
      host,
    )
    assert.match(caught.message, /Exception = Error: stop/)
    assert.equal(caught.number, 409)
    assert.deepEqual(host.calls, [])
    const promised = await failure(
      '() => { Promise.reject(new Error("no")).catch(error => getContext().abort(error)) }',
    )
    assert.match(promised.message, /Exception = Error: no/)
  })

  test('an unhandled rejection does not end the script, as in the service', async () => {
    assert.equal((await execute('async () => { throw new Error("unheard") }')).value, '')
  })
})

describe('the language', () => {
  const bodies: readonly [what: string, body: string, expected: unknown][] = [
    [
      "the clock is the database's",
      '() => __.response.setBody([Date.now(), new Date().getTime(), Date.parse(Date())].map(ms => Math.floor(ms ' +
        '/ 1e6)))',
      [1_700_000, 1_700_000, 1_700_000],
    ],
    [
      'dates are dates',
      '() => __.response.setBody([new Date(5).getTime(), Date.UTC(1970, 0, 2), new Date() instanceof Date, new ' +
        '(class D extends Date {})(7).getTime()])',
      [5, 86_400_000, true, 7],
    ],
    [
      'errors are errors',
      '() => __.response.setBody([new TypeError("") instanceof Error, Error("t").message, new Error("t", { ' +
        'cause: 1 }).cause, Error.name, new Error(1, "x").constructor === Error])',
      [true, 't', 1, 'Error', true],
    ],
    ['names need not be declared', '() => { a = 5; __.response.setBody(a) }', 5],
    ['eval works inside the sandbox', '() => __.response.setBody(eval("1 + 1") + new Function("return 3")())', 5],
    ['error codes have names', '() => __.response.setBody(ErrorCodes.PreconditionFailed)', 412],
    [
      'the request is there',
      '(a) => __.response.setBody([__.request.getOperationType(), __.request.getBody(), ' +
        'getContext().getRequest().getValue("nothing")])',
      ['Execute', ['arg'], null],
    ],
  ]
  for (const [what, body, expected] of bodies) {
    test(what, async () => assert.deepEqual((await execute(body, undefined, ['arg'])).value, expected))
  }

  test('random numbers differ between runs', async () => {
    const body = '() => __.response.setBody(Math.random())'
    const values = await Promise.all(Array.from({ length: 6 }, async () => (await execute(body)).value))
    assert.equal(new Set(values).size, 6)
  })

  test('the log accepts texts and formats, but no more than fits in a header', async () => {
    const body =
      '() => { console.log("a%sb%%", 1); console.log("\\ud83d"); console.log(1, 2); ' +
      'console.log("x".repeat(1e5)); console.log("z") }'
    assert.equal((await execute(body)).log, 'a1b%\ufffd1 2')
    // So many calls take long on a busy machine.
    const many = await execute('() => { for (let i = 0; i < 100000; i++) console.log("é") }', undefined, [], 60_000)
    assert.ok(encodeURIComponent(many.log).length <= 8192 && many.log.length > 1000)
    assert.equal((await failure('() => { console.log("before"); throw 1 }')).log, 'before')
  })
})

describe('a run and its host', () => {
  /** A host that answers one call at a time, when told to. */
  class SlowHost implements ScriptHost {
    readonly calls: HostCall[] = []
    active = 0
    mostActive = 0
    answer: (call: HostCall) => HostAnswer | Promise<HostAnswer> = () => ({ ok: { body: '{}', options: {} } })

    async call(call: HostCall): Promise<HostAnswer> {
      this.calls.push(call)
      this.active += 1
      this.mostActive = Math.max(this.mostActive, this.active)
      await new Promise<void>(resolve => machine.setImmediate(resolve))
      try {
        return await this.answer(call)
      } finally {
        this.active -= 1
      }
    }
  }

  const create = (id: number) => `__.createDocument(__.getAltLink(), { id: "${id}" })`

  test('calls come one at a time and in order', async () => {
    const host = new SlowHost()
    await execute(`() => { for (let i = 0; i < 20; i++) __.createDocument(__.getAltLink(), { id: String(i) }) }`, host)
    assert.deepEqual(
      host.calls.map(call => (call.kind === 'create' ? JSON.parse(call.body).id : '')),
      Array.from({ length: 20 }, (_, i) => `${i}`),
    )
    assert.equal(host.mostActive, 1)
  })

  test('after an error no further call arrives, and none is under way', async () => {
    const host = new SlowHost()
    const body = `() => { ${create(1)}; ${create(2)}; ${create(3)}; throw new Error("enough") }`
    await assert.rejects(execute(body, host), ScriptError)
    assert.equal(host.active, 0)
    const { length } = host.calls
    await execute('() => {}')
    assert.equal(host.calls.length, length)
  })

  test('an error in a callback ends the run', async () => {
    const host = new SlowHost()
    const failing = '__.createDocument(__.getAltLink(), {}, () => { throw new Error("in callback") })'
    const body = `() => { ${failing}; ${create(2)} }`
    await assert.rejects(execute(body, host), /in callback/)
    assert.equal(host.active, 0)
  })

  test('a failing host ends the run with its own error, and the thread can be used again', async () => {
    const host = new SlowHost()
    const broken = new InvariantError('the disk is gone')
    host.answer = () => Promise.reject(broken)
    const body = `() => { __.createDocument(__.getAltLink(), {}, () => __.response.setBody("never")); ${create(2)} }`
    await assert.rejects(execute(body, host), error => error === broken)
    assert.equal(host.calls.length, 1)
    assert.equal((await execute('() => __.response.setBody(1)')).value, 1)
  })

  test('when the budget is spent, calls are not accepted', async () => {
    const host = new SlowHost()
    host.answer = () => ({ ok: { body: '{}', options: {} }, isBudgetSpent: host.calls.length === 3 })
    const body = `() => {
      let made = 0
      const next = () => { if (__.createDocument(__.getAltLink(), {}, next)) made++; else __.response.setBody(made) }
      next()
    }`
    assert.equal((await execute(body, host)).value, 3)
  })

  test('when time is nearly up, calls are not accepted, and the script can end normally', async () => {
    const body = `() => {
      let pages = 0
      const next = () => { __.response.setBody(++pages); __.readDocuments(__.getSelfLink(), { pageSize: 1 }, next) }
      next()
    }`
    const { value } = await execute(body, new MemoryScriptHost(), [], 300)
    assert.ok(value > 1)
  })

  test('writes beyond the limit of one commit are not accepted; reads still are', async () => {
    const body = `() => {
      let made = 0
      while (__.createDocument(__.getSelfLink(), {})) made++
      __.response.setBody([made, __.readDocuments(__.getSelfLink())])
    }`
    assert.deepEqual((await execute(body)).value, [scriptWritesMax, true])
  })

  test('too many calls at once are not accepted either', async () => {
    const body = `() => { let made = 0; while (__.readDocuments(__.getSelfLink())) made++; __.response.setBody(made) }`
    assert.equal((await execute(body)).value, 10_000)
  })

  test('a host that does not answer in time costs the thread, not the server', async () => {
    const host = new SlowHost()
    host.answer = () => new Promise(resolve => machine.setTimeout(() => resolve({ ok: { options: {} } }), 600))
    await assert.rejects(
      execute(`() => { ${create(1)} }`, host, [], 50),
      error => error instanceof CapacityError && error.kind === 'timed_out',
    )
    assert.equal(host.active, 0)
    assert.equal((await execute('() => __.response.setBody(1)')).value, 1)
  })
})

describe('triggers', () => {
  const run = {
    id: 'trigger',
    links: testLinks,
    epochMs,
    operation: 'Create',
    requestBody: '{"id":"doc1","n":1}',
  } as const

  test('a pre-trigger changes the written item', async () => {
    const body = `function () {
      const request = getContext().getRequest()
      const item = request.getBody()
      item.id = item.id.toUpperCase() + request.getOperationType()
      item.ttl = 20
      request.setBody(item)
    }`
    const outcome = await runTrigger(runner, { ...run, type: 'pre', body, host: new MemoryScriptHost() })
    assert.deepEqual(JSON.parse(outcome.requestBody!), { id: 'DOC1Create', n: 1, ttl: 20 })
    assert.equal(outcome.responseBody, undefined)
  })

  test('a pre-trigger that changes nothing leaves the body as it is, and has no response', async () => {
    const body = `() => {
      if (getContext().getResponse !== undefined || __.response !== undefined) throw 'response'
      if ('__response' in globalThis) throw 'response'
      try { __.filter(() => true) } catch (error) { throw error }
    }`
    const host = new MemoryScriptHost([{ id: '1' }])
    await assert.rejects(
      runTrigger(runner, { ...run, type: 'pre', body, host }),
      /callback function must be provided for scenarios, such as pre-trigger/,
    )
    const outcome = await runTrigger(runner, { ...run, type: 'pre', body: '() => {}', host })
    assert.equal(outcome.requestBody, run.requestBody)
  })

  test('a post-trigger reads both, changes the response, and cannot touch the request', async () => {
    const body = `() => {
      const context = getContext()
      let refusals = 0
      try { context.getRequest().setBody('lol') } catch { refusals++ }
      try { context.getRequest().setValue('Body', 'lol') } catch { refusals++ }
      try { context.getResponse().setValue('Test', 'lol') } catch { refusals++ }
      const written = context.getResponse().getBody()
      written.seen = [context.getRequest().getBody().n, refusals, context.getResponse().getMaxResourceQuota()]
      context.getResponse().setBody(written)
    }`
    const outcome = await runTrigger(runner, {
      ...run,
      type: 'post',
      body,
      host: new MemoryScriptHost(),
      responseBody: '{"id":"doc1","_ts":1}',
      responseValues: { MaxResourceQuota: 'collectionSize=1;' },
    })
    assert.deepEqual(JSON.parse(outcome.responseBody!), { id: 'doc1', _ts: 1, seen: [1, 3, 'collectionSize=1;'] })
    assert.equal(outcome.requestBody, run.requestBody)
  })

  test('a trigger that throws fails with its number, even after it has made calls', async () => {
    const host = new MemoryScriptHost()
    const body =
      '() => { __.createDocument(__.getSelfLink(), { id: "meta" }, () => { throw new Error(4444, "post") }) }'
    const failing = runTrigger(runner, { ...run, type: 'post', body, host, responseBody: '{}' })
    const error = await failing.catch(thrown => thrown)
    assert.ok(error instanceof ScriptError)
    assert.equal(error.number, 4444)
    assert.equal(host.calls.length, 1)
  })

  test('a delete has no body', async () => {
    const body = '() => { if (getContext().getRequest().getBody() !== undefined) throw 1 }'
    const outcome = await runTrigger(runner, {
      ...run,
      type: 'pre',
      operation: 'Delete',
      requestBody: undefined,
      body,
      host: new MemoryScriptHost(),
    })
    assert.equal(outcome.requestBody, undefined)
  })
})

test('a closed runner cancels its runs and starts no more', async () => {
  const other = new ScriptRunner()
  const { promise: isRunning, resolve: running } = Promise.withResolvers<void>()
  const host: ScriptHost = {
    call: async () => {
      running()
      return { ok: { body: '[]', options: {} } }
    },
  }
  const start = (body: string) =>
    runStoredProcedure(other, { id: 'p', body, links: testLinks, host, epochMs, args: '[]' })
  const runs = Array.from({ length: 5 }, () =>
    start('() => { __.readDocuments(__.getSelfLink(), () => { for (;;); }) }'),
  )
  const results = Promise.allSettled(runs)
  await isRunning
  await other[Symbol.asyncDispose]()
  for (const result of await results) {
    assert.ok(
      result.status === 'rejected' && result.reason instanceof CapacityError && result.reason.kind === 'unavailable',
    )
  }
  await assert.rejects(start('() => {}'), CapacityError)
})
