/** Runs the mayfly command on a terminal: a pseudo-terminal that the program `script` makes. */

import { existsSync } from 'node:fs'
import { stripVTControlCharacters } from 'node:util'
import { command, environmentWith, runCli } from './run-cli.ts'

const script = '/usr/bin/script'

/** Why there is no terminal here; undefined: there is one. Other systems have another `script`. */
export const terminalMissing =
  process.platform === 'linux' && existsSync(script) ? undefined : 'there is no /usr/bin/script of Linux here'

/** Of a test: it is skipped where there is no terminal, and says so. */
export const onTerminal = { skip: terminalMissing ?? false }

export interface Shown {
  readonly code: number | null
  /** What was written to the terminal, by both streams, with its control characters. */
  readonly raw: string
  /** The same as lines of plain text. */
  readonly text: string
}

/** The terminal has 160 columns. */
export async function runOnTerminal(args: readonly string[]): Promise<Shown> {
  const words = [process.execPath, command, ...args].map(quoted).join(' ')
  const line = ['--quiet', '--return', '--command', `stty cols 160 && exec ${words}`, '/dev/null']
  const { code, stdout, stderr } = await runCli(line, { executable: script, env: environmentWith({}) })
  if (stderr !== '') throw new Error(`script failed: ${stderr}`)
  return { code, raw: stdout, text: stripVTControlCharacters(stdout).replaceAll('\r\n', '\n') }
}

/** As one word of a shell. */
function quoted(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
