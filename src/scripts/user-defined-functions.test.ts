import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { CapacityError, RequestError } from '../base/error.ts'
import { itemBytesMax, nestingDepthMax } from '../base/limits.ts'
import { ScriptError } from './script-error.ts'
import { type FunctionValue, functionSessionsMax, UserDefinedFunctions } from './user-defined-functions.ts'

const functions = new UserDefinedFunctions()
after(() => functions[Symbol.asyncDispose]())

const open = (bodies: Readonly<Record<string, string>>) =>
  functions.open({ bodies: new Map(Object.entries(bodies)), epochMs: 1_700_000_000_000 })

async function call(body: string, ...values: FunctionValue[]): Promise<FunctionValue> {
  using session = await open({ f: body })
  return session.call('f', values)
}

const isLate = (error: unknown) => error instanceof CapacityError && error.kind === 'timed_out'

describe('a function takes and returns values of the query language', () => {
  const cases: readonly [body: string, values: FunctionValue[], expected: FunctionValue][] = [
    ['function tax(income) { return income < 1000 ? income * 0.1 : income * 0.4 }', [500], 50],
    ['(a, b) => a + b', ['é\u0000', '\ud83d'], 'é\u0000\ud83d'],
    ['x => x', [{ a: [1.5, null, true, { b: 'c' }] }], { a: [1.5, null, true, { b: 'c' }] }],
    ['x => x === undefined ? "undefined" : typeof x', [undefined], 'undefined'],
    ['(a, b) => [a === null, b === undefined]', [null, undefined], [true, true]],
    ['() => undefined', [], undefined],
    ['() => NaN', [], undefined],
    ['() => () => 1', [], undefined],
    ['() => Symbol()', [], undefined],
    ['() => new Date(0)', [], '1970-01-01T00:00:00.000Z'],
    ['() => Math.floor(Date.now() / 1e6)', [], 1_700_000],
    [
      'function (n) { return n < 2 ? n : again(n - 1) + again(n - 2) }\nfunction again(n) { return n < 2 ? n : ' +
        'again(n - 1) + again(n - 2) }',
      [10],
      55,
    ],
  ]
  for (const [body, values, expected] of cases) {
    test(body, async () => assert.deepEqual(await call(body, ...values), expected))
  }

  test('a property named __proto__ is an ordinary one', async () => {
    const value = JSON.parse('{"__proto__":{"a":1}}')
    assert.equal(JSON.stringify(await call('x => x', value)), '{"__proto__":{"a":1}}')
  })
})

describe('errors', () => {
  test('a thrown error has a message, a stack and a number', async () => {
    const error = await call('function () { throw new Error(32766, "Error") }').catch(thrown => thrown)
    assert.ok(error instanceof ScriptError)
    assert.match(
      error.message,
      /^Encountered exception while executing function\. Exception = Error: Error\r\nStack trace: .*f\.js/s,
    )
    assert.equal(error.number, 32_766)
  })

  test('a text that is not a function fails when it is called', async () => {
    const error = await call('This is no function').catch(thrown => thrown)
    assert.ok(error instanceof ScriptError && error.number === 65_535)
    await assert.rejects(call('5'), /The body of the function is not a function/)
  })

  test('an undefined name is refused', async () => {
    using session = await open({})
    assert.throws(() => session.call('missing', []), RequestError)
    assert.throws(() => session.call('constructor', []), /'constructor' is not a recognized user-defined function name/)
  })

  test('values too large or too deep are refused', async () => {
    const deep = (levels: number) => `() => { let a = 1; for (let i = 0; i < ${levels}; i++) a = [a]; return a }`
    await call(deep(nestingDepthMax))
    await assert.rejects(call(deep(nestingDepthMax + 1)), /nested deeper/)
    await assert.rejects(call('x => x + x', 'x'.repeat(itemBytesMax / 2)), /more than 2 MB/)
  })
})

test('functions of one session share globals; sessions do not', async () => {
  const bodies = { set: '() => { n = 5 }', get: '() => typeof n' }
  using one = await open(bodies)
  using other = await open(bodies)
  one.call('set', [])
  assert.equal(one.call('get', []), 'number')
  assert.equal(other.call('get', []), 'undefined')
})

describe('a function that does not end', () => {
  test('is stopped, and its session goes on', async () => {
    using session = await open({ loop: '() => { for (;;); }', deep: 'function f() { return f() }', one: '() => 1' })
    assert.throws(() => session.call('loop', []), isLate)
    assert.throws(
      () => session.call('deep', []),
      error => error instanceof ScriptError || isLate(error),
    )
    assert.equal(session.call('one', []), 1)
  })

  const attacks: readonly [what: string, body: string][] = [
    ['searches through an array', '() => { const a = new Array(1e6).fill(0); for (;;) a.indexOf(1) }'],
    ['comparisons of long texts', '() => { const a = "x".repeat(4e6), b = "x".repeat(4e6) + ""; for (;;) a < b }'],
    [
      'endless texts',
      '() => { const a = []; for (;;) { try { for (;;) a.push("x".repeat(1e6) + a.length) } catch {} } }',
    ],
  ]
  for (const [what, body] of attacks) {
    test(`is stopped with its thread when it does not listen: ${what}`, async () => {
      using session = await open({ f: body, one: '() => 1' })
      using other = await open({ one: '() => 1' })
      assert.throws(() => session.call('f', []), isLate)
      // Other sessions of that thread have lost their contexts and get an error.
      assert.throws(
        () => other.call('one', []),
        error => error instanceof CapacityError && error.kind === 'unavailable',
      )
      assert.equal(await call('() => 1'), 1)
    })
  }
})

test('the number of sessions is limited, and closed ones can be reused', async () => {
  const sessions = await Promise.all(Array.from({ length: functionSessionsMax }, () => open({ one: '() => 1' })))
  await assert.rejects(open({}), error => error instanceof CapacityError && error.kind === 'throttled')
  for (const session of sessions) assert.equal(session.call('one', []), 1)
  for (const session of sessions) {
    session[Symbol.dispose]()
    session[Symbol.dispose]()
  }
  assert.equal(await call('() => 1'), 1)
})
