/**
 * Builds the explorer page into dist/page: `npm ci`, `npm run build`, and a server that runs from a
 * checkout whose page is out of date start it.
 *
 * Plain JavaScript, because an installation without development packages runs it as well, with any Node.
 * There it does nothing: vite is missing.
 */

import { existsSync } from 'node:fs'
import { mkdir, readdir, readFile, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

const folder = fileURLToPath(new URL('.', import.meta.url))
/** Not dist/explorer: there the compiler puts the server's side of it. */
const target = join(folder, '..', 'dist', 'page')
const entry = join(target, 'index.html')
/** There while a build is on its way. */
const lock = `${target}.lock`
/** A build that was killed leaves its lock behind. */
const lockMsMax = 60_000
const lookEveryMs = 100

/** A change to a file changes its time; a new, removed or renamed one changes the time of its folder. */
async function newestChange() {
  const entries = await readdir(folder, { recursive: true })
  const times = await Promise.all(['.', ...entries].map(async name => (await stat(join(folder, name))).mtimeMs))
  return Math.max(...times)
}

async function isBuilt() {
  return existsSync(entry) && (await stat(entry)).mtimeMs >= (await newestChange())
}

/** The server sends what lies beside a file, so nothing is compressed on a request. */
async function compress(path) {
  const bytes = await readFile(path)
  const brotli = await promisify(brotliCompress)(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
  await Promise.all([
    writeFile(`${path}.br`, brotli),
    promisify(gzip)(bytes, { level: 9 }).then(zipped => writeFile(`${path}.gz`, zipped)),
  ])
}

async function build() {
  const { build: bundle } = await import('vite')
  // What changes while the page is built is newer than the page: the next start builds it again.
  const begun = new Date()
  // Built beside, then moved: a request in the middle never sees half a page.
  const fresh = `${target}-${process.pid}`
  await bundle({ configFile: join(folder, 'vite.config.js'), build: { outDir: fresh } })
  const files = (await readdir(fresh, { recursive: true })).filter(name => /\.(html|js|css|svg)$/.test(name))
  await Promise.all(files.map(name => compress(join(fresh, name))))
  await utimes(join(fresh, 'index.html'), begun, begun)
  const old = `${fresh}-old`
  if (existsSync(target)) await rename(target, old)
  await rename(fresh, target)
  await rm(old, { recursive: true, force: true })
}

/** Test files start many servers at a time: one of them builds, the others wait for it. */
async function buildAlone() {
  await mkdir(dirname(target), { recursive: true })
  for (;;) {
    const isMine = await mkdir(lock).then(
      () => true,
      () => false,
    )
    if (isMine) break
    const since = await stat(lock).catch(() => undefined)
    if (since && Date.now() - since.mtimeMs > lockMsMax) await rm(lock, { recursive: true, force: true })
    else await sleep(lookEveryMs)
  }
  try {
    if (!(await isBuilt())) await build()
  } finally {
    await rm(lock, { recursive: true, force: true })
  }
}

const hasVite = existsSync(join(folder, '..', 'node_modules', 'vite'))
if (hasVite && !(await isBuilt())) await buildAlone()
