/** Rows on their way to a server: in pieces of any size, and stored before the last one is there. */

import assert from 'node:assert/strict'
import { request } from 'node:http'
import test from 'node:test'
import { encodeRows, RowFrames } from '../../src/transfer/frames.ts'
import type { InputRow } from '../../src/transfer/input.ts'
import { fc } from '../support/property.ts'
import { startServer } from '../support/start-server.ts'

function row(line: number, text: string, refusal?: string): InputRow {
  const bytes = Buffer.from(refusal === undefined ? text : '')
  return { line, bytes, end: 0, endLine: line, ...(refusal !== undefined && { refusal }) }
}

test('rows are the same, however their bytes are cut', () => {
  const anyRow = fc.tuple(fc.nat(), fc.string(), fc.option(fc.string({ minLength: 1 }), { nil: undefined }))
  fc.assert(
    fc.property(fc.array(anyRow), fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1 }), (given, sizes) => {
      const rows = given.map(([line, text, refusal]) => row(line, text, refusal))
      const bytes = encodeRows(rows)
      const frames = new RowFrames()
      const found: InputRow[] = []
      for (let at = 0, n = 0; at < bytes.length; n++) {
        const size = sizes[n % sizes.length]!
        found.push(...frames.add(bytes.subarray(at, at + size)))
        at += size
      }
      frames.end()
      assert.deepEqual(found, rows)
    }),
  )
})

test('a list that breaks off, and a row that says to be too long, are refused', () => {
  const bytes = encodeRows([row(1, '{"id":"a"}')])
  const cut = new RowFrames()
  assert.deepEqual(cut.add(bytes.subarray(0, -1)), [])
  assert.throws(() => cut.end(), { kind: 'malformed' })
  const long = Buffer.from(bytes)
  long.writeUInt32BE(0xffff_ffff, 8)
  assert.throws(() => new RowFrames().add(long.subarray(0, 12)), { kind: 'malformed' })
})

test('rows are stored as they arrive, and a call that is cut off and sent again doubles none', async () => {
  const server = await startServer()
  const container = await server.newContainer()
  const rows = Array.from({ length: 2500 }, (_, n) => row(n + 1, JSON.stringify({ id: `${n}`, pk: 'a' })))
  const body = encodeRows(rows)
  const names = `${container.database.id}/${container.id}`
  const address = new URL(`_mayfly/import/${names}?job=cut-off-once&from=0`, server.db.endpoint)
  const count = async () => (await container.items.query('SELECT VALUE COUNT(1) FROM c').fetchAll()).resources[0]

  const sending = request(address, { method: 'POST', headers: { 'content-length': body.length } })
  sending.on('error', () => {})
  sending.write(body.subarray(0, -1))
  while ((await count()) < 2000) await new Promise(resolve => setImmediate(resolve))
  assert.equal(await count(), 2000)
  sending.destroy()

  const answer = await fetch(address, { method: 'POST', body })
  const result = await answer.json()
  assert.equal(answer.status, 200, JSON.stringify(result))
  assert.partialDeepStrictEqual(result, { counts: { created: 2500, refused: 0 } })
  assert.equal(await count(), 2500)
})
