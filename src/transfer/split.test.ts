/** Cutting inputs into rows: all formats, in chunks of every size, with every kind of damage. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { ImportBatch } from './import-rows.ts'
import { InputError, type InputPlace } from './input.ts'
import { readRows } from './read-rows.ts'

interface Read {
  readonly rows: readonly (readonly [line: number, text: string])[]
  readonly error?: string
}

function sourceOf(name: string, bytes: Buffer, chunkBytes: number) {
  return {
    name,
    async *open(start: number) {
      for (let at = start; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes)
    },
  }
}

async function read(name: string, given: string | Buffer, chunkBytes = 7, after?: InputPlace): Promise<Read> {
  const bytes = Buffer.from(given)
  const rows: [number, string][] = []
  try {
    for await (const batch of readRows(sourceOf(name, bytes, chunkBytes), { after })) {
      for (const row of batch.rows) rows.push([row.line, row.refusal ?? row.bytes.toString()])
    }
    return { rows }
  } catch (error) {
    if (!(error instanceof InputError)) throw error
    return { rows, error: error.message }
  }
}

const mark = '\uFEFF'

const wholeInputs: readonly [what: string, name: string, text: string | Buffer, rows: Read['rows']][] = [
  [
    'lines',
    'a.jsonl',
    '{"a":1}\n{"b":2}\n',
    [
      [1, '{"a":1}'],
      [2, '{"b":2}'],
    ],
  ],
  [
    'lines without a last newline',
    'a.jsonl',
    '{"a":1}\n{"b":2}',
    [
      [1, '{"a":1}'],
      [2, '{"b":2}'],
    ],
  ],
  [
    'CRLF, empty lines and spaces',
    'a.jsonl',
    '{"a":1}\r\n\r\n  {"b":2} \r\n',
    [
      [1, '{"a":1}'],
      [3, '{"b":2}'],
    ],
  ],
  ['a byte order mark', 'a.jsonl', `${mark}{"a":1}\n`, [[1, '{"a":1}']]],
  [
    'lines told by content',
    'a',
    '{"a":1}\n{"b":2}\n',
    [
      [1, '{"a":1}'],
      [2, '{"b":2}'],
    ],
  ],
  [
    'lines that are called .json',
    'a.json',
    '{"a":1}\n{"b":2}\n',
    [
      [1, '{"a":1}'],
      [2, '{"b":2}'],
    ],
  ],
  [
    'an array',
    'a.json',
    '[{"a":1},\n {"b":[2,"]"]}]\n',
    [
      [1, '{"a":1}'],
      [2, '{"b":[2,"]"]}'],
    ],
  ],
  ['an array that is called .jsonl', 'a.jsonl', '[{"a":1}]', [[1, '{"a":1}']]],
  ['an empty array', 'a.json', ' [ ] ', []],
  [
    'an array of other things',
    'a.json',
    '[1,"x,]",null,[2]]',
    [
      [1, '1'],
      [1, '"x,]"'],
      [1, 'null'],
      [1, '[2]'],
    ],
  ],
  ['strings with quotes and escapes', 'a.json', '[{"a":"\\"}\\\\"}]', [[1, '{"a":"\\"}\\\\"}']]],
  ['one printed object', 'a.json', '{\n  "a": 1\n}\n', [[1, '{\n  "a": 1\n}']]],
  [
    'printed objects',
    'a',
    '{\n "a": 1\n}\n{\n "b": 2\n}',
    [
      [1, '{\n "a": 1\n}'],
      [4, '{\n "b": 2\n}'],
    ],
  ],
  ['nothing', 'a', '', []],
  [
    'gzip',
    'a',
    gzipSync('{"a":1}\n{"b":2}\n'),
    [
      [1, '{"a":1}'],
      [2, '{"b":2}'],
    ],
  ],
  [
    'CSV',
    'a.csv',
    'id,n\na,1\nb,x\n',
    [
      [2, '{"id":"a","n":1}'],
      [3, '{"id":"b","n":"x"}'],
    ],
  ],
  ['CSV told by content', 'a', 'id;n\r\na;1\r\n', [[2, '{"id":"a","n":1}']]],
  [
    'CSV with quotes',
    'a.csv',
    'id,t\n"a","x ""y"",\nz"\n"b",""\n',
    [
      [2, '{"id":"a","t":"x \\"y\\",\\nz"}'],
      [4, '{"id":"b","t":""}'],
    ],
  ],
  [
    'CSV values',
    'a.csv',
    'id,v\n1,true\n2,null\n3,\n4,007\n5,-1.5\n6,12345678901234567890\n7,1.0\n',
    [
      [2, '{"id":"1","v":true}'],
      [3, '{"id":"2","v":null}'],
      [4, '{"id":"3"}'],
      [5, '{"id":"4","v":"007"}'],
      [6, '{"id":"5","v":-1.5}'],
      [7, '{"id":"6","v":"12345678901234567890"}'],
      [8, '{"id":"7","v":"1.0"}'],
    ],
  ],
  [
    'CSV with JSON in cells',
    'a.csv',
    'id,v\na,"{""x"":[1]}"\nb,"""7"""\nc,{x\n',
    [
      [2, '{"id":"a","v":{"x":[1]}}'],
      [3, '{"id":"b","v":"7"}'],
      [4, '{"id":"c","v":"{x"}'],
    ],
  ],
]

test('an input is cut into the same rows however its bytes arrive', async () => {
  for (const [what, name, text, rows] of wholeInputs) {
    for (const chunkBytes of [1, 2, 3, 7, 1000]) {
      assert.deepEqual(await read(name, text, chunkBytes), { rows }, `${what}, ${chunkBytes} bytes at a time`)
    }
  }
})

test('a row of CSV that cannot be read is refused at its line', async () => {
  const text = Buffer.concat([
    Buffer.from('id,v\na\nb,1,2\nd,"x"y\n'),
    Buffer.from([0xff, 0x2c, 0x31, 0x0a]),
    Buffer.from('e,1\n'),
  ])
  assert.deepEqual((await read('a.csv', text)).rows, [
    [2, 'The row has 1 cells, but there are 2 columns.'],
    [3, 'The row has 3 cells, but there are 2 columns.'],
    [4, 'Column 2 goes on behind its closing quote.'],
    [5, 'The row is not UTF-8.'],
    [6, '{"id":"e","v":1}'],
  ])
})

test('a quote inside a cell costs its own row, not the rows up to the next quote', async () => {
  const text = 'id;v\n1;5" pipe\n2;a\n3;6""7" x\n4;b\n5;"c"d\n6;"e\n;""f"\n7;,"g\n8;h\n'
  for (const chunkBytes of [1, 2, 3, 7, 1000]) {
    assert.deepEqual((await read('a.csv', text, chunkBytes)).rows, [
      [2, 'Column 2 has a quote, but does not begin with one.'],
      [3, '{"id":"2","v":"a"}'],
      [4, 'Column 2 has a quote, but does not begin with one.'],
      [5, '{"id":"4","v":"b"}'],
      [6, 'Column 2 goes on behind its closing quote.'],
      [7, '{"id":"6","v":"e\\n;\\"f"}'],
      [9, 'Column 2 has a quote, but does not begin with one.'],
      [10, '{"id":"8","v":"h"}'],
    ])
  }
})

const broken: readonly [what: string, name: string, text: string | Buffer, rows: number, error: RegExp][] = [
  [
    'an array without a comma',
    'a.json',
    '[{"a":1}\n{"b":2}]',
    1,
    /^Line 2: There must be a comma or a closing bracket before '\{'\.$/,
  ],
  ['an array with two commas', 'a.json', '[{"a":1},,{"b":2}]', 1, /^Line 1: A value is missing before ','\.$/],
  ['an array that is not closed', 'a.json', '[{"a":1},\n', 1, /^Line 2: The input ends in the middle of the array/],
  [
    'a value that is not closed',
    'a.json',
    '[{"a":1},\n{"b":',
    1,
    /^Line 2: The input ends in the middle of this value\.$/,
  ],
  [
    'more behind an array',
    'a.json',
    '[{"a":1}] {"b":2}',
    1,
    /^Line 1: There is more behind the end of the array: '\{'\.$/,
  ],
  [
    'a gzip that is cut',
    'a.gz',
    gzipSync(`${'{"a":1}\n'.repeat(3)}`).subarray(0, -9),
    0,
    /^The gzip data ends in the middle; the file was cut\.$/,
  ],
  ['a gzip that is damaged', 'a.gz', damaged(gzipSync('{"a":1}\n'.repeat(3))), 0, /^The gzip data is damaged/],
  ['UTF-16', 'a.json', Buffer.from('\uFEFF{"a":1}', 'utf16le'), 0, /UTF-16 or UTF-32\. Save it as UTF-8\.$/],
  ['UTF-16 without a mark', 'a.json', Buffer.from('{"a":1}', 'utf16le'), 0, /UTF-16 or UTF-32/],
  [
    'CSV whose quote is not closed',
    'a.csv',
    'id,v\na,1\nb,"x\nc,2\n',
    1,
    /^Line 3: The quote that begins here is never closed\.$/,
  ],
  ['CSV with a column twice', 'a.csv', 'id,v,v\n', 0, /^Line 1: There are two columns with the name 'v'\.$/],
  ['CSV with a column without a name', 'a.csv', 'id,,v\n', 0, /^Line 1: Column 2 has no name\.$/],
  ['nothing that anybody knows', 'a', 'hello\n', 0, /Give it: --format jsonl, json or csv\.$/],
]

function damaged(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  copy[copy.length - 6]! ^= 0xff
  return copy
}

test('a broken input ends at its line, and what stands before the damage is read', async () => {
  for (const [what, name, text, rows, error] of broken) {
    for (const chunkBytes of [1, 5, 1000]) {
      const found = await read(name, text, chunkBytes)
      assert.equal(found.rows.length, rows, what)
      assert.match(found.error ?? 'no error', error, what)
    }
  }
})

test('reading goes on at every place between two rows', async () => {
  for (const [what, name, text, rows] of wholeInputs) {
    const bytes = Buffer.from(text)
    for (const [at] of rows.entries()) {
      const end = await placeBehind(name, bytes, at)
      assert.equal(end.rows, at + 1)
      assert.deepEqual((await read(name, bytes, 3, end)).rows, rows.slice(at + 1), `${what}, behind row ${at}`)
    }
  }
})

/** The place behind a row: where reading ends if the input is cut into batches of single rows. */
async function placeBehind(name: string, bytes: Buffer, row: number): Promise<InputPlace> {
  let last: ImportBatch<InputPlace> | undefined
  for await (const batch of readRows(sourceOf(name, bytes, 7), { batchRowsMax: 1 })) {
    last = batch
    if (batch.from === row) break
  }
  return last!.end
}
