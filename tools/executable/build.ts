/**
 * Builds Mayfly as one file for people without Node: `npm run executable`. It goes into the folder `release`,
 * alone and as an archive with README, docs and licences.
 *
 * The file is the Node that runs this, with the bundled code inside (Node's single executable applications):
 * the command, one bundle for each thread, the engine for scripts, and the explorer's page. Nothing is
 * unpacked when it runs. It works on the kind of machine that it was built on.
 */

import { spawnSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'
import { licencesOf } from './licences.ts'

const checkout = fileURLToPath(new URL('../..', import.meta.url))
const { resolve } = createRequire(import.meta.url)
/** Puts the bundles into the copy of Node. */
const postject = join(dirname(resolve('postject')), 'cli.js')

/** Each starts by its name (`base/own-thread.ts`). */
const threads = {
  'query-worker': 'src/server/query-thread/query-worker.ts',
  'checkpoint-worker': 'src/server/query-thread/checkpoint-worker.ts',
  'script-thread': 'src/scripts/script-thread.ts',
  'function-thread': 'src/scripts/function-thread.ts',
} as const

/** By this text Node finds out that it carries an application. */
const fuse = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2'

function run(command: string, ...args: string[]): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, { cwd: checkout, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr}`, { cause: error })
}

interface Bundle {
  readonly file: string
  /** The files that it is made of. */
  readonly sources: readonly string[]
}

/** One CommonJS file: Node starts nothing else from inside of an executable. */
async function bundle(input: string, file: string): Promise<Bundle> {
  const build = await rolldown({ input: join(checkout, input), platform: 'node', external: ['pg-native'] })
  const { output } = await build.write({
    ...{ file, format: 'cjs', codeSplitting: false, keepNames: true },
    dynamicImportInCjs: false,
  })
  await build.close()
  return { file, sources: output.flatMap(part => (part.type === 'chunk' ? part.moduleIds : [])) }
}

/** Everything but the command, by the names under which Mayfly looks for it. */
async function assetsIn(folder: string): Promise<{ assets: Record<string, string>; sources: string[] }> {
  const sources: string[] = []
  const assets: Record<string, string> = {
    'package.json': join(checkout, 'package.json'),
    'quickjs.wasm': resolve('@jitl/quickjs-wasmfile-release-sync/wasm'),
  }
  for (const [name, input] of Object.entries(threads)) {
    const thread = await bundle(input, join(folder, `${name}.js`))
    assets[`threads/${name}.js`] = thread.file
    sources.push(...thread.sources)
  }
  const page = join(checkout, 'dist/page')
  for (const entry of globSync('**/*', { cwd: page, withFileTypes: true })) {
    if (!entry.isFile()) continue
    const path = join(entry.parentPath, entry.name)
    assets[`explorer/${path.slice(page.length + 1).replaceAll('\\', '/')}`] = path
  }
  return { assets, sources }
}

const executableName = process.platform === 'win32' ? 'mayfly.exe' : 'mayfly'

/** Writes the executable and the licences of what is in it into a folder. */
async function buildExecutable(target: string): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'mayfly-executable-'))
  try {
    run(process.execPath, join(checkout, 'web/build.js'))
    const command = await bundle('tools/executable/start.ts', join(folder, 'mayfly.js'))
    const { assets, sources } = await assetsIn(folder)
    const blob = join(folder, 'blob')
    const settings = {
      main: command.file,
      output: blob,
      disableExperimentalSEAWarning: true,
      // Compiled code for this very Node: halves the time to start.
      useCodeCache: true,
      assets,
    }
    writeFileSync(join(folder, 'sea.json'), JSON.stringify(settings))
    run(process.execPath, '--experimental-sea-config', join(folder, 'sea.json'))

    mkdirSync(target, { recursive: true })
    const executable = join(target, executableName)
    copyFileSync(process.execPath, executable)
    chmodSync(executable, 0o755)
    const isMac = process.platform === 'darwin'
    if (isMac) run('codesign', '--remove-signature', executable)
    const segment = isMac ? ['--macho-segment-name', 'NODE_SEA'] : []
    run(process.execPath, postject, executable, 'NODE_SEA_BLOB', blob, '--sentinel-fuse', fuse, ...segment)
    if (isMac) run('codesign', '--sign', '-', executable)
    writeFileSync(join(target, 'LICENSES.txt'), licencesOf([...command.sources, ...sources]))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function main(): Promise<void> {
  const { version } = JSON.parse(readFileSync(join(checkout, 'package.json'), 'utf8'))
  const name = `mayfly-${version}-${process.platform}-${process.arch}`
  const release = join(checkout, 'release')
  const target = join(release, name)
  rmSync(target, { recursive: true, force: true })
  await buildExecutable(target)
  for (const page of ['README.md', 'CHANGELOG.md', 'SECURITY.md', 'LICENSE', 'docs', 'examples']) {
    cpSync(join(checkout, page), join(target, page), { recursive: true })
  }
  run('tar', '-czf', join(release, `${name}.tar.gz`), '-C', release, name)
  process.stdout.write(`release/${name}/${executableName}\n`)
}

if (import.meta.main) await main()
