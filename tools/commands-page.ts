/** Writes the tables of docs/commands.md from the commands and their flags. Run `npm run docs`. */

import type { Command, Option } from 'commander'
import { mayflyProgram, usage } from '../src/cli/program.ts'
import { environmentVariable, type Flag, type FlagName, serverFlags } from '../src/server/config.ts'
import { type GeneratedPage, write } from './generated-page.ts'

/** The commands that do something, each with its words: `ttl explain`. */
export function commandsOf(command: Command, words: readonly string[] = []): { name: string; command: Command }[] {
  return command.commands.flatMap(each => {
    const own = [...words, each.name()]
    return each.commands.length === 0 ? [{ name: own.join(' '), command: each }] : commandsOf(each, own)
  })
}

const cell = (text: string) => text.replaceAll('|', '\\|')
const row = (...cells: readonly string[]) => `| ${cells.join(' | ')} |`

/** Commands that talk to a server have these flags, and the page tells them once. */
const commonFlags = ['--endpoint', '--key', '--json']

function isCommon(command: Command, flag: string | null | undefined): boolean {
  return isRemote(command) && commonFlags.includes(flag ?? '')
}

function isRemote({ options }: Command): boolean {
  return options.some(({ long }) => long === '--endpoint')
}

function commonTable(commands: readonly { readonly name: string; readonly command: Command }[]): string[] {
  const { command } = commands.find(({ command }) => isRemote(command))!
  const rows = command.options
    .filter(({ long }) => isCommon(command, long))
    .map(({ flags, description }) => row(`\`${flags}\``, cell(description)))
  const local = commands.filter(({ command }) => !isRemote(command)).map(({ name }) => `\`${name}\``)
  const json = commands.filter(
    ({ command }) => isRemote(command) && command.options.every(({ long }) => long !== '--json'),
  )
  return [
    `Flags of all commands but ${local.join(', ')}:`,
    '',
    row('flag', 'meaning'),
    '|---|---|',
    ...rows,
    '',
    ...json.map(({ name }) => `\`${name}\` has no \`--json\`.`),
    '',
  ]
}

function sectionOf(name: string, command: Command): string[] {
  const line = ['mayfly', ...name.split(' ').slice(0, -1), usage(command)].join(' ')
  const head = [`### \`${line}\``, '', `${sentence(command.description())}`]
  const options = command.options.filter(({ long }) => !isCommon(command, long))
  if (options.length === 0) return [...head, '']
  const rows = options.map(option => row(`\`${cell(option.flags)}\``, defaultOf(option), cell(option.description)))
  return [...head, '', row('flag', 'default', 'meaning'), '|---|---|---|', ...rows, '']
}

function sentence(text: string): string {
  return `${text[0]!.toUpperCase()}${text.slice(1)}.`
}

function defaultOf({ mandatory, defaultValue }: Option): string {
  if (mandatory) return 'required'
  return defaultValue === undefined || typeof defaultValue === 'boolean' ? '' : defaultValue
}

function serverTable(): string[] {
  const rows = (Object.entries(serverFlags) as [FlagName, Flag][]).map(([name, flag]) => {
    const variables = [
      environmentVariable(name),
      ...(flag.emulatorVariable === undefined ? [] : [flag.emulatorVariable]),
    ]
    const shown = variables.map(each => `\`${each}\``).join(', ')
    return row(`\`${cell(flag.flags)}\``, flag.default ?? '', cell(flag.help), shown)
  })
  return [row('flag', 'default', 'meaning', 'variable'), '|---|---|---|---|', ...rows, '']
}

function lines(): string[] {
  const all = commandsOf(mayflyProgram([]))
  const isServer = (name: string) => name === 'serve' || name === 'exec'
  const others = all.filter(({ name }) => !isServer(name))
  return [
    '## Flags of the server',
    '',
    ...serverTable(),
    '## Commands',
    '',
    ...commonTable(others),
    ...others.flatMap(({ name, command }) => sectionOf(name, command)),
  ].slice(0, -1)
}

export const commandsPage: GeneratedPage = { path: 'docs/commands.md', tool: 'tools/commands-page.ts', lines }

if (process.argv[1] === import.meta.filename) write(commandsPage)
