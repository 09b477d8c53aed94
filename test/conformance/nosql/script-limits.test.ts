/**
 * Scripts that take long: the service's 408, nothing half done, and nobody else waits for them. The limit of
 * 5 s is shorter here.
 */

import assert from 'node:assert/strict'
import { connect, type Socket } from 'node:net'
import test from 'node:test'
import { TriggerOperation, TriggerType } from '@azure/cosmos'
import { ScriptRunner } from '../../../src/scripts/script-runner.ts'
import { signature } from '../../support/signed-request.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const shortMs = 500
/** One in which no script of a test comes to its limit. */
const longMs = 60_000

/** Undefined: that of the server, for other suites that run in this process. */
let msMax: number | undefined
let begun = () => {}
const ends: Promise<unknown>[] = []

const { inTurn } = ScriptRunner.prototype
ScriptRunner.prototype.inTurn = function <T>(this: ScriptRunner, ...[caller, work]: Parameters<typeof inTurn<T>>) {
  const end = inTurn.call(this, msMax === undefined ? caller : { ...caller, msMax }, runs => {
    begun()
    return work(runs)
  }) as Promise<T>
  ends.push(end.catch(() => {}))
  return end
}

function limited(name: string, ms: number, body: () => Promise<void>): void {
  test(name, { timeout: longMs / 2 }, async () => {
    msMax = ms
    try {
      await body()
    } finally {
      msMax = undefined
    }
  })
}

const server = await startServer()
const container = await server.newContainer()
const { storedProcedures, triggers } = container.scripts

const create = (id: string) => `__.createDocument(__.getSelfLink(), { id: '${id}', pk: 'a' })`
await storedProcedures.create({ id: 'loop', body: `() => { ${create('loop')}; for (;;); }` })
await storedProcedures.create({
  id: 'promises',
  body: `() => { ${create('promises')}; const job = () => { Promise.resolve().then(job) }; job() }`,
})
await storedProcedures.create({
  id: 'almost',
  // Its last step ends just after the limit, and nobody looks at the time within it.
  body: `() => {
    const start = Date.now(), a = new Array(1e6).fill(0)
    ${create('almost')}
    Promise.resolve().then(() => { while (Date.now() - start < ${shortMs + 100}) a.indexOf(1) })
  }`,
})
await storedProcedures.create({ id: 'harmless', body: '(id) => __.createDocument(__.getSelfLink(), { id, pk: "a" })' })
await triggers.create({
  id: 'slow',
  body: '() => { for (;;); }',
  triggerOperation: TriggerOperation.All,
  triggerType: TriggerType.Post,
})

const isThere = async (id: string) => (await container.item(id, 'a').read()).statusCode === 200

function ask(path: string, { headers = [] as string[], body = '[]' } = {}): Socket {
  const { hostname, port } = new URL(server.db.endpoint)
  const date = new Date().toUTCString()
  const socket = connect(Number(port), hostname)
  const lines = [
    `POST ${path} HTTP/1.1`,
    `Host: ${hostname}:${port}`,
    `Authorization: ${signature(server.db.key, 'POST', path, date)}`,
    `x-ms-date: ${date}`,
    'x-ms-documentdb-partitionkey: ["a"]',
    ...headers,
    `Content-Length: ${body.length}`,
  ]
  socket.write(`${lines.join('\r\n')}\r\n\r\n${body}`)
  return socket
}

/** Sends a request, and leaves when its script has begun. */
async function askAndLeave(...request: Parameters<typeof ask>): Promise<void> {
  const beginning = new Promise<void>(resolve => {
    begun = resolve
  })
  const socket = ask(...request)
  await beginning
  begun = () => {}
  socket.resetAndDestroy()
}

limited(
  'Scripts that take too long are answered 408, also in chains of promises, and write nothing',
  shortMs,
  async () => {
    const ids = ['loop', 'promises', 'almost']
    const errors = await Promise.all(
      ids.map(id =>
        container.scripts
          .storedProcedure(id)
          .execute('a')
          .then(
            () => 'it ended',
            error => error,
          ),
      ),
    )
    for (const error of errors) {
      assert.equal(error.code, 408, String(error))
      assert.match(error.message, /The requested operation exceeded maximum alloted time/)
    }
    for (const id of ids) assert.equal(await isThere(id), false)
  },
)

limited('A write whose trigger takes too long is answered 408 and does not happen', shortMs, async () => {
  const item = { id: 'triggered', pk: 'a' }
  await assert.rejects(container.items.create(item, { postTriggerInclude: ['slow'] }), { code: 408 })
  assert.equal(await isThere('triggered'), false)
})

limited('A client that leaves ends its procedure and its trigger, and nothing is written', longMs, async () => {
  for (let n = 0; n < 8; n++) await askAndLeave(pathOf(container, 'sprocs', 'loop'))
  const headers = ['x-ms-documentdb-post-trigger-include: slow']
  const body = JSON.stringify({ id: 'left', pk: 'a' })
  for (let n = 0; n < 4; n++) await askAndLeave(pathOf(container, 'docs'), { headers, body })
  assert.ok(ends.length >= 12)
  await Promise.all(ends)
  await container.scripts.storedProcedure('harmless').execute('a', ['after those who left'])
  assert.equal(await isThere('after those who left'), true)
  assert.equal(await isThere('loop'), false)
  assert.equal(await isThere('left'), false)
})

limited('A harmless procedure does not wait for twenty endless ones', longMs, async () => {
  let answers = 0
  const loops = Array.from({ length: 20 }, () =>
    ask(pathOf(container, 'sprocs', 'loop')).on('data', () => {
      answers += 1
    }),
  )
  for (let n = 0; n < 5; n++) await container.scripts.storedProcedure('harmless').execute('a', [`beside ${n}`])
  assert.equal(answers, 0)
  assert.equal(await isThere('beside 4'), true)
  for (const loop of loops) loop.resetAndDestroy()
})
