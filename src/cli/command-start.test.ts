/**
 * Tests of how commands are started. What cmd.exe, a batch file and a program of Windows make of a line is
 * imitated by their documented rules: none of this was run on Windows.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import { fc } from '../../test/support/property.ts'
import { startOf } from './command-start.ts'

const comspec = 'C:\\Windows\\system32\\cmd.exe'
const PATH = 'C:\\tools;;C:\\Program Files\\nodejs'

function onWindows(command: readonly string[], ...files: string[]) {
  const exists = (path: string) => files.includes(path)
  return startOf(command, { platform: 'win32', environment: { PATH, comspec }, exists })
}

const npm = 'C:\\Program Files\\nodejs\\npm.cmd'

/** One reading of a line by cmd.exe: outside of quotes a ^ makes the next character a plain one. */
function readByCmd(line: string): { readonly text: string; readonly firstEnd: number } {
  let text = ''
  let isQuoted = false
  let firstEnd = -1
  for (let at = 0; at < line.length; at++) {
    const char = line[at]!
    if (char === '^' && !isQuoted) {
      text += line[++at] ?? ''
      continue
    }
    assert.ok(isQuoted || !/[&|<>()]/.test(char), `cmd.exe would take ${char} for its own in ${line}`)
    if (char === '"') isQuoted = !isQuoted
    if (char === ' ' && !isQuoted && firstEnd === -1) firstEnd = text.length
    text += char
  }
  return { text, firstEnd: firstEnd === -1 ? text.length : firstEnd }
}

/** The arguments that a program makes of its line. An even number of \ before a " are half as many. */
function readByProgram(line: string): string[] {
  const found: string[] = []
  let word: string | undefined
  let isQuoted = false
  for (const [part] of line.matchAll(/\\*"|\\+|[^\\" ]+| /g)) {
    if (part === ' ' && !isQuoted) {
      if (word !== undefined) found.push(word)
      word = undefined
    } else if (part.endsWith('"')) {
      const isPlain = part.length % 2 === 0
      word = (word ?? '') + '\\'.repeat((part.length - 1) >> 1) + (isPlain ? '"' : '')
      if (!isPlain) isQuoted = !isQuoted
    } else {
      word = (word ?? '') + part
    }
  }
  return word === undefined ? found : [...found, word]
}

function received(command: readonly string[], batchFile: string): string[] {
  const { file, args, isVerbatim } = onWindows(command, batchFile)
  assert.deepEqual([file, isVerbatim, args.slice(0, 3)], [comspec, true, ['/d', '/s', '/c']])
  const line = /^"(.*)"$/s.exec(args[3]!)![1]!
  assert.doesNotMatch(line, /%\w+%/, 'cmd.exe would put a variable there')
  const { text, firstEnd } = readByCmd(line)
  assert.equal(text.slice(0, firstEnd), batchFile)
  // The batch file hands on what stands behind its name, and cmd.exe reads that again.
  return readByProgram(readByCmd(text.slice(firstEnd + 1)).text)
}

test('Elsewhere than on Windows a command is started as it is', () => {
  const elsewhere = { platform: 'linux' as const, environment: {}, exists: () => true }
  assert.deepEqual(startOf(['npm', 'a b'], elsewhere), { file: 'npm', args: ['a b'], isVerbatim: false })
})

test('On Windows a program is started as it is, also one that stands before a batch file', () => {
  const direct = { file: 'node', args: ['-e', '"%PATH%"'], isVerbatim: false }
  const command = ['node', '-e', '"%PATH%"']
  assert.deepEqual(onWindows(command), direct)
  assert.deepEqual(onWindows(command, 'C:\\tools\\node.exe', 'C:\\tools\\node.cmd'), direct)
  assert.deepEqual(onWindows(command, 'C:\\tools\\node.exe', 'C:\\Program Files\\nodejs\\node.cmd'), direct)
})

test('On Windows a batch file is found as cmd.exe finds it, and gets its arguments', () => {
  assert.deepEqual(received(['npm', 'test'], npm), ['test'])
  assert.deepEqual(received(['npm.cmd', 'test'], npm), ['test'])
  const local = 'node_modules\\.bin\\jest.cmd'
  assert.deepEqual(received(['node_modules/.bin/jest', '--', 'a b'], local), ['--', 'a b'])
  const odd = ['', 'a b', '"', 'a\\', 'a\\"b', '%PATH%', '^', '& echo x', '(a|b)', '!x!', '*.ts', '"a" & "b"', '\\\\']
  assert.deepEqual(received(['npm', ...odd], npm), odd)
})

test('Every argument without a line break arrives unchanged', () => {
  const special = fc.constantFrom('"', '\\', '^', '%', '&', '|', '<', '>', '(', ')', '!', ' ', 'PATH', 'a', ',', ';')
  const arg = fc.array(special, { maxLength: 12 }).map(parts => parts.join(''))
  fc.assert(
    fc.property(fc.array(arg, { minLength: 1, maxLength: 4 }), args => {
      assert.deepEqual(received(['npm', ...args], npm), args)
    }),
    { numRuns: 500 },
  )
})

test('An argument that cmd.exe would cut is refused', () => {
  assert.throws(() => onWindows(['npm', 'a\nb'], npm), { kind: 'malformed', message: /line break/ })
})
