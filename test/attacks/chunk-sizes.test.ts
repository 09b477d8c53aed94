/** Chunks that say to be larger than any request may be: refused at once, and others go on. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import test from 'node:test'
import { connect as connectTls } from 'node:tls'
import { signature } from '../support/signed-request.ts'
import { pathOf, startServer } from '../support/start-server.ts'

const server = await startServer()
const container = await server.newContainer()
const docs = `${pathOf(container)}/docs`
const port = Number(new URL(server.db.endpoint).port)

async function open(isEncrypted: boolean): Promise<Socket> {
  if (!isEncrypted) {
    const socket = connect(port, '127.0.0.1').on('error', () => {})
    await once(socket, 'connect')
    return socket.setNoDelay(true)
  }
  const socket = connectTls({ port, host: '127.0.0.1', rejectUnauthorized: false }).on('error', () => {})
  await once(socket, 'secureConnect')
  return socket.setNoDelay(true)
}

function headOf(path: string, isSigned: boolean): string {
  const date = new Date().toUTCString()
  return [
    `POST ${path} HTTP/1.1`,
    'host: localhost',
    ...(isSigned ? [`authorization: ${signature(server.db.key, 'POST', path, date)}`] : []),
    `x-ms-date: ${date}`,
    'x-ms-documentdb-partitionkey: ["a"]',
    'transfer-encoding: chunked',
    // The answer to a write is short.
    'prefer: return=minimal',
    '',
    '',
  ].join('\r\n')
}

/** The first status, sent by a client that never ends its body. Others are answered before the next piece. */
async function statusOf(isEncrypted: boolean, pieces: readonly (string | Buffer)[]): Promise<string> {
  const socket = await open(isEncrypted)
  const heard = once(socket, 'data')
  for (const piece of pieces) {
    socket.write(piece)
    for (let turn = 0; turn < 10; turn++) await new Promise(resolve => setImmediate(resolve))
    assert.equal((await container.item('none', 'a').read()).statusCode, 404)
  }
  const [bytes] = (await heard) as [Buffer]
  socket.destroy()
  return bytes.toString('latin1', 9, 12)
}

const chunk = `5\r\n{"id"\r\n`

for (const isEncrypted of [false, true]) {
  const over = isEncrypted ? 'TLS' : 'TCP'
  const signed = headOf(docs, true)
  const cases: Readonly<Record<string, readonly [pieces: readonly string[], status: string]>> = {
    'with the head': [[`${signed}FFFFFFFFFF\r\n`], '413'],
    'after the head': [[signed, 'FFFFFFFFFF\r\n'], '413'],
    'after the head, in single bytes': [[signed, ...'FFFFFFFFFF\r\n'], '413'],
    'of little more than a request may have': [[signed, '300000\r\n', 'x'], '413'],
    'after a good one with the head': [[signed + chunk, 'FFFFFFFFFF\r\n'], '413'],
    'after a good one': [[signed, `${chunk}FFFFFFFFFF\r\n`], '413'],
    'in the second half of the head': [[signed.slice(0, 70), `${signed.slice(70)}FFFFFFFFFF\r\n`], '413'],
    'that overflows': [[signed, `${'F'.repeat(17)}\r\n`], '400'],
    'by a stranger, with the head': [[`${headOf(docs, false)}FFFFFFFFFF\r\n`], '413'],
    'by a stranger, after the head': [[headOf(docs, false), 'FFFFFFFFFF\r\n'], '401'],
    'for the admin API, with the head': [[`${headOf('/_mayfly/import/a/b', false)}FFFFFFFFFF\r\n`], '413'],
    'for the admin API, after the head': [[headOf('/_mayfly/import/a/b', false), 'FFFFFFFFFF\r\n'], '413'],
  }
  for (const [name, [pieces, status]] of Object.entries(cases)) {
    test(`${over}: a chunk ${name}`, async () => assert.equal(await statusOf(isEncrypted, pieces), status))
  }

  test(`${over}: an item of almost 2 MB in one chunk, then in two, and the next request`, async () => {
    const text = (id: string) => JSON.stringify({ id, pk: 'a', text: 'f'.repeat(2_000_000) })
    const first = text(`one-${over}`)
    const second = text(`two-${over}`)
    const hex = (part: string) => `${part.length.toString(16)}\r\n${part}\r\n`
    const socket = await open(isEncrypted)
    const answers: string[] = []
    for (const body of [hex(first), hex(second.slice(0, 70_000)) + hex(second.slice(70_000)), hex('{}')]) {
      const heard = once(socket, 'data')
      socket.write(`${headOf(docs, true)}${body}0\r\n\r\n`)
      answers.push(((await heard)[0] as Buffer).toString('latin1', 9, 12))
    }
    socket.destroy()
    assert.deepEqual(answers, ['201', '201', '400'])
  })
}
