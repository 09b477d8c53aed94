/** What `--help` and the pages say about commands and flags is what the parser knows. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Command } from 'commander'
import { mayflyProgram } from '../../src/cli/program.ts'
import { environmentVariable, type FlagName, parseConfig, serverFlags, settings } from '../../src/server/config.ts'
import { commandsOf } from '../../tools/commands-page.ts'
import { pages } from '../docs/code-blocks.ts'
import { runCli } from '../support/run-cli.ts'
import { textOf } from '../support/source-tree.ts'

const commands = commandsOf(mayflyProgram([]))
const flagsOf = ({ options }: Command) => options.flatMap(({ long }) => (long == null ? [] : [long]))
const ownFlags = new Set(['--help', '--version', ...commands.flatMap(({ command }) => flagsOf(command))])

/** Of scripts of the project: `npm run crash`, `fuzz`, `differential`, `bench`; and of node. */
const foreignFlags = new Set(['--cycles', '--inputs', '--operations', '--quick', '--test'])

test('every flag that a page shows in prose is one of a command', () => {
  // Benchmarks have flags of their own, and decisions speak of many programs.
  const shown = pages
    .filter(page => !/^(bench|docs\/decisions)\//.test(page))
    .flatMap(page => {
      // Blocks are run; what is left of them belongs to other programs.
      const prose = textOf(page).replaceAll(/^```.*?^```$/gms, '')
      const spans = [...prose.matchAll(/`([^`\n]+)`/g)].map(([, span]) => span!)
      const own = spans.filter(span => /^(--|mayfly |npx mayfly )/.test(span))
      return own.flatMap(span => [...span.matchAll(/(?<![\w-])--[a-z][\w-]*/g)].map(([flag]) => ({ page, flag })))
    })
  assert.ok(shown.length > 100)
  assert.deepEqual(
    shown
      .filter(({ flag }) => !ownFlags.has(flag) && !foreignFlags.has(flag))
      .map(({ page, flag }) => `${page}: ${flag}`),
    [],
  )
})

test('every command that a page shows in prose exists', () => {
  const words = new Set(commands.map(({ name }) => name.split(' ')[0]!))
  const shown = pages.flatMap(page =>
    [...textOf(page).matchAll(/`(?:npx )?mayfly ([a-z]+)/g)].map(([, name]) => ({ page, name: name! })),
  )
  assert.deepEqual(
    shown.filter(({ name }) => !words.has(name)),
    [],
  )
})

test('`--help` of every command names each of its flags', () => {
  for (const { name, command } of commands) {
    const help = command.helpInformation()
    for (const flag of flagsOf(command)) assert.ok(help.includes(flag), `${name}: ${flag}`)
  }
})

test('`--help` fits into 80 columns', () => {
  const program = mayflyProgram([])
  for (const command of [program, ...program.commands, ...commands.map(each => each.command)]) {
    const lines = command.helpInformation().split('\n')
    assert.deepEqual(
      lines.filter(line => line.length > 80),
      [],
      command.name(),
    )
  }
})

test('`help` shows what a command is for, and says so if there is none', async () => {
  const shown = await runCli(['help', 'clock', 'set'])
  assert.deepEqual([shown.code, shown.stderr], [0, ''])
  assert.match(shown.stdout, /^Usage: mayfly clock set /)
  assert.match((await runCli(['help'])).stdout, /^Usage: mayfly \[options\] \[command\]/)
  const words = 'There are: show, advance, set, trust\\.\\n$'
  for (const [args, message] of [
    [['help', 'foo'], /^mayfly: There is no command 'foo'\. There are: serve, exec, clock, /],
    [['help', 'clock', 'foo'], new RegExp(`^mayfly: There is no command 'foo' of 'clock'\\. ${words}`)],
    [['clock', 'help', 'foo'], new RegExp(`^mayfly: There is no command 'foo' of 'clock'\\. ${words}`)],
    [['clock', 'foo'], new RegExp(`^mayfly: There is no command 'foo' of 'clock'\\. ${words}`)],
    [['ttl', 'foo', 'a', 'b'], /^mayfly: There is no command 'foo' of 'ttl'\. There are: status, /],
  ] as const) {
    const { code, stdout, stderr } = await runCli(args)
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, message)
  }
})

test('the defaults that `serve --help` tells are those of the configuration', () => {
  const told = toldDefaults('serve')
  const { data, clock, strict, ...rest } = settings({}, {})
  for (const [name, value] of Object.entries({ data, clock, ...rest })) {
    assert.equal(told.get(flagOf(name as FlagName)), String(value), name)
  }
  assert.equal(strict, undefined)
  assert.equal(told.size, Object.values(serverFlags).filter(flag => 'default' in flag).length)
})

test('the defaults that `exec --help` tells are its own', () => {
  const told = toldDefaults('exec')
  assert.deepEqual(
    ['--port', '--mongo-port', '--data', '--log-level'].map(flag => told.get(flag)),
    ['0', '0', 'in memory', 'warn'],
  )
  assert.ok(!flagsOf(commandNamed('exec')).includes('--json'), 'it would have no effect')
})

test('a flag that takes one of several words takes each of them, and no other', () => {
  for (const [name, { flags }] of Object.entries(serverFlags) as [FlagName, { flags: string }][]) {
    const words = /<(.+\|.+)>/.exec(flags)?.[1]?.split('|') ?? []
    for (const word of words) parseConfig(settings({ [name]: word }, {}))
    if (words.length > 0) assert.throws(() => parseConfig(settings({ [name]: 'neither' }, {})), /takes/)
  }
})

test('each flag has the variable that the help names', () => {
  for (const name of Object.keys(serverFlags) as FlagName[]) {
    assert.equal(environmentVariable(name), `MAYFLY_${flagOf(name).slice(2).replaceAll('-', '_').toUpperCase()}`)
  }
})

function flagOf(name: FlagName): string {
  return serverFlags[name].flags.split(' ')[0]!
}

function commandNamed(name: string): Command {
  return commands.find(each => each.name === name)!.command
}

function toldDefaults(name: string): Map<string, string> {
  return new Map(
    commandNamed(name).options.flatMap(({ long, description }) => {
      const value = /\(default: ([^)]+)\)$/.exec(description)?.[1]
      const isFixed =
        value !== undefined && !['keyFile', 'key', 'partitions'].map(each => flagOf(each as FlagName)).includes(long!)
      return isFixed ? [[long!, value] as const] : []
    }),
  )
}
