import assert from 'node:assert/strict'
import { test } from 'node:test'
import { stripVTControlCharacters } from 'node:util'
import { RequestError } from '../base/error.ts'
import { createLog } from './log.ts'

function recording(isTTY = false) {
  const lines: string[] = []
  return { lines, stream: { isTTY, write: (text: string) => lines.push(text) } }
}

test('an entry is a line of JSON with the level as a number, and lower levels are not written', () => {
  const { lines, stream } = recording()
  const log = createLog('info', stream)
  log.debug({ port: 1 }, 'not shown')
  log.info({ port: 2 }, 'first\nsecond')
  log.error({}, 'third')
  assert.equal(lines.length, 2)
  assert.ok(lines.every(line => line.endsWith('\n') && line.indexOf('\n') === line.length - 1))
  const [info, error] = lines.map(line => JSON.parse(line))
  assert.ok(Math.abs(info.time - Date.now()) < 60_000)
  assert.deepEqual({ ...info, time: 0 }, { level: 30, time: 0, port: 2, msg: 'first\nsecond' })
  assert.equal(error.level, 50)
})

test('a silent log writes nothing', () => {
  const { lines, stream } = recording()
  createLog('silent', stream).error({}, 'not shown')
  assert.deepEqual(lines, [])
})

test('an error is shown with its causes and what else it says', () => {
  const { lines, stream } = recording()
  const low = Object.assign(new Error('disk is full'), { code: 'ENOSPC' })
  const high = new RequestError('malformed', 'cannot write', { cause: low })
  low.cause = high
  createLog('error', stream).error({ error: high, more: 1 }, 'failed')
  const { error, more } = JSON.parse(lines[0]!)
  assert.equal(more, 1)
  assert.equal(error.type, 'RequestError')
  assert.equal(error.message, 'cannot write: disk is full')
  assert.match(error.stack, /cannot write.*caused by: Error: disk is full/s)
  assert.equal(error.kind, 'malformed')
  assert.equal('cause' in error, false)
  createLog('error', stream).error({ error: low }, 'failed')
  assert.equal(JSON.parse(lines[1]!).error.code, 'ENOSPC')
})

test('what JSON cannot hold is written as text', () => {
  const { lines, stream } = recording()
  const circle: { self?: unknown } = {}
  circle.self = circle
  createLog('error', stream).error({ circle, count: 2n ** 60n, name: 'shop' }, 'odd')
  const entry = JSON.parse(lines[0]!)
  assert.match(entry.circle, /Circular/)
  assert.equal(entry.count, '1152921504606846976n')
  assert.equal(entry.name, 'shop')
  assert.equal(entry.msg, 'odd')
})

test('on a terminal an entry is a coloured line', () => {
  const { lines, stream } = recording(true)
  createLog('info', stream).warn({ port: 2 }, 'careful')
  assert.match(stripVTControlCharacters(lines[0]!), /^\d\d:\d\d:\d\d warn careful \{"port":2\}\n$/)
})
