/**
 * Decides how `mayfly exec` starts a command. On Windows `npm`, `npx` and many others are batch files, which
 * only cmd.exe can run. Everything else is started directly, without a shell.
 *
 * cmd.exe parses its command line. The batch file passes its arguments on with `%*`, and then cmd.exe parses
 * them a second time. So each argument is quoted for the program at the end, and every special character of
 * cmd.exe is escaped with ^ twice. Quotation marks are escaped too, because inside of quotes cmd.exe does
 * not remove a ^.
 */

import { win32 } from 'node:path'
import { RequestError } from '../base/error.ts'

export interface CommandStart {
  readonly file: string
  readonly args: readonly string[]
  /** The arguments are one line, which Node must not quote again (Windows). */
  readonly isVerbatim: boolean
}

interface Surroundings {
  readonly platform: NodeJS.Platform
  readonly environment: NodeJS.ProcessEnv
  readonly exists: (path: string) => boolean
}

export function startOf(command: readonly string[], { platform, environment, exists }: Surroundings): CommandStart {
  const [name, ...args] = command as [string, ...string[]]
  const batchFile = platform === 'win32' ? findBatchFile(name, environment, exists) : undefined
  if (batchFile === undefined) return { file: name, args, isVerbatim: false }
  if (args.some(arg => /[\r\n\0]/.test(arg))) {
    throw new RequestError('malformed', `An argument of ${name} has a line break, which Windows cannot pass to it.`)
  }
  const line = [escaped(batchFile), ...args.map(arg => escaped(escaped(quoted(arg))))].join(' ')
  return { file: environment.comspec || 'cmd.exe', args: ['/d', '/s', '/c', `"${line}"`], isVerbatim: true }
}

/** Undefined if the command is a program, or is not found. */
function findBatchFile(
  name: string,
  environment: NodeJS.ProcessEnv,
  exists: (path: string) => boolean,
): string | undefined {
  const extensions = (environment.PATHEXT || '.COM;.EXE;.BAT;.CMD').split(';')
  const hasExtension = extensions.some(extension => name.toLowerCase().endsWith(extension.toLowerCase()))
  const names = hasExtension ? [name] : extensions.map(extension => name + extension.toLowerCase())
  const folders = /[\\/]/.test(name) ? [''] : (environment.PATH ?? '').split(';').filter(folder => folder !== '')
  const paths = folders.flatMap(folder => names.map(each => win32.join(folder, each)))
  const found = paths.find(exists)
  return found !== undefined && /\.(cmd|bat)$/i.test(found) ? found : undefined
}

/**
 * Quotes an argument by the rules by which Windows programs parse it:
 * https://learn.microsoft.com/cpp/c-language/parsing-c-command-line-arguments
 */
function quoted(arg: string): string {
  return `"${arg.replace(/(\\*)"/g, '$1$1\\"').replace(/(\\+)$/, '$1$1')}"`
}

function escaped(text: string): string {
  return text.replace(/[()\][%!^"`<>&|;, *?]/g, '^$&')
}
