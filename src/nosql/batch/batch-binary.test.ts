/** Tests the binary form of batches with bytes that the .NET SDK sent and the service answered. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { crc32 } from 'node:zlib'
import { binaryJson } from '../../../test/support/binary-json.ts'
import { parseBinaryBatch, printBinaryResults } from './batch-binary.ts'

/** Requests of the .NET SDK, as floci-az recorded them (CosmosHybridRowBatchCodecTest). */
const captures = {
  patch:
    'gfDY/38BCgAAAIHx2P9/dAAAAM44guiBcFThf1MBAAAAAgAAAANvbmVheyJvcGVyYXRpb25zIjpbeyJvcCI6InNldCIsInBhdGgiOiIva2l' +
    'uZCIsInZhbHVlIjoieiJ9LHsib3AiOiJpbmNyIiwicGF0aCI6Ii9jb3VudCIsInZhbHVlIjoxMH1dfQ==',
  replaceAndDelete:
    'gfDY/38BCgAAAIHx2P9/TQAAAJKKVRCBcFThf1MFAAAAAgAAAANvbmU6eyJpZCI6Im9uZSIsInRlbmFudCI6InUxIiwia2luZCI6InJlcGx' +
    'hY2VtZW50IiwiY291bnQiOjk5fYHx2P9/FgAAAAtBUkGBcFThfxMEAAAAAgAAAAdtaXNzaW5n',
  conditional: 'gfDY/38BCgAAAIHx2P9/GgAAADpfNJeBcFThfxMEAAAAAgAAAANvbmUUCQVzdGFsZQ==',
  createReadUpsert:
    'gfDY/38BCgAAAIHx2P9/MgAAAIy0GfCBcFThf0MAAAAAAgAAACN7ImlkIjoiY3JlYXRlZCIsInBrIjoicCIsInZhbHVlIjoxfYHx2P9/FgA' +
    'AAI7kXlCBcFThfxMCAAAAAgAAAAdjcmVhdGVkgfHY/38yAAAAJIqEvIFwVOF/QxQAAAACAAAAI3siaWQiOiJjcmVhdGVkIiwicGsiOiJwIi' +
    'widmFsdWUiOjJ9',
}

const decode = (text: string) => Buffer.from(text, 'base64')

test('Operations of every kind are parsed', () => {
  const operations = Object.values(captures).flatMap(text => parseBinaryBatch(decode(text)))
  assert.deepEqual(
    operations.map(({ kind, id, ifMatch, partitionKey }) => [kind, id, ifMatch, partitionKey]),
    [
      ['patch', 'one', undefined, undefined],
      ['replace', 'one', undefined, undefined],
      ['delete', 'missing', undefined, undefined],
      ['delete', 'one', 'stale', undefined],
      ['create', undefined, undefined, undefined],
      ['read', 'created', undefined, undefined],
      ['upsert', undefined, undefined, undefined],
    ],
  )
  assert.equal(operations[1]!.body?.text, '{"id":"one","tenant":"u1","kind":"replacement","count":99}')
  assert.deepEqual(operations[6]!.body?.parsed, { id: 'created', pk: 'p', value: 2 })
})

/** A batch of creates, with the bodies as they are. */
function creates(...bodies: readonly Buffer[]): Buffer {
  const segment = decode(captures.patch).subarray(0, 10)
  const records = bodies.flatMap(body => {
    const length =
      body.length < 128
        ? [body.length]
        : [(body.length & 0x7f) | 0x80, ((body.length >> 7) & 0x7f) | 0x80, body.length >> 14]
    const row = Buffer.concat([Buffer.from('817054e17f430000000002000000', 'hex'), Buffer.from(length), body])
    const head = Buffer.alloc(8)
    head.writeUInt32LE(row.length)
    head.writeUInt32LE(crc32(row), 4)
    return [Buffer.from('81f1d8ff7f', 'hex'), head, row]
  })
  return Buffer.concat([segment, ...records])
}

test('Items may be in binary JSON, within the limit of a request as text', () => {
  const item = { id: 'é', pk: 'a', list: [1, 2.5, null] }
  const [first, second] = parseBinaryBatch(creates(binaryJson(item), Buffer.from(JSON.stringify(item))))
  assert.deepEqual(first!.body, second!.body)
  // 64 KB, and 20 times the same string by its place.
  const long = Buffer.concat([Buffer.of(0xc1, 0xff, 0xff), Buffer.alloc(65_535, 0x61)])
  const repeated = Buffer.concat([Buffer.of(0x80, 0xe4, 0, 0, 0, 0), long, Buffer.alloc(40, Buffer.of(0xc3, 6))])
  repeated.writeUInt32LE(repeated.length - 6, 2)
  assert.equal(parseBinaryBatch(creates(repeated))[0]!.body!.text.length, 21 * 65_538 + 1)
  assert.throws(() => parseBinaryBatch(creates(repeated, repeated)), { kind: 'too_large' })
})

test('A result equals that of the service, byte for byte', () => {
  // Recorded by the Java SDK's HybridRowBatchCodecTest.
  const expected =
    '81f0d8ff7f010a00000081f1d8ff7f3f000000d5437d92817154e17f07c800000000000000262230303030613034312d303030302d3' +
    '03830302d303030302d3661353736316231303030302210065555555555552540'
  const etag = '"0000a041-0000-0800-0000-6a5761b10000"'
  const bytes = printBinaryResults([{ status: 200, chargeRu: 10.666666666666666, etag }])
  assert.equal(bytes.toString('hex'), expected)
})

test('A result carries its body, and a failure its sub-status, message and retry delay', () => {
  const body = JSON.stringify({ text: 'ä'.repeat(200) })
  const rows = printBinaryResults([
    { status: 201, chargeRu: 1, body },
    { status: 429, chargeRu: 0, substatus: 3200, message: 'Later.', retryAfterMs: 360 },
  ])
  assert.ok(
    rows.includes(Buffer.concat([Buffer.from([0x9b, 0x03]), Buffer.from(body)])),
    'lengths have seven bits to a byte',
  )
  const text = Buffer.from('Later.').toString('hex')
  const failure = `817154e17f0bad010000800c000006${text}0b056801000010060000000000000000`
  assert.ok(rows.toString('hex').endsWith(failure))
})

test('Damaged or truncated bytes are refused, wherever the damage is', () => {
  for (const text of Object.values(captures)) {
    const whole = decode(text)
    for (let at = 1; at < whole.length; at++) {
      const cut = whole.subarray(0, at)
      const damaged = Buffer.from(whole)
      damaged[at]! ^= 0x55
      for (const bytes of [cut, damaged]) {
        // A cut between two records leaves a valid stream.
        try {
          parseBinaryBatch(bytes)
        } catch (error) {
          assert.equal((error as { kind?: string }).kind, 'malformed', String(error))
        }
      }
      // The length of a segment is not checked.
      if (at !== 5) assert.throws(() => parseBinaryBatch(damaged), `byte ${at}`)
    }
  }
})
