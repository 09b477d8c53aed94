/**
 * A real Chromium for tests and pictures: the one that MAYFLY_CHROME names, an installed one, or the one
 * that npm brings for Linux on x64. `MAYFLY_CHROME=npm` insists on the last.
 */

import { existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { delimiter, dirname, join } from 'node:path'
import type { Browser } from 'playwright-core'

export type LaunchedBrowser =
  | { readonly browser: Browser; readonly found: string }
  /** Nobody has a browser here; this says what was tried. */
  | { readonly browser: undefined; readonly reason: string }

interface Candidate {
  readonly executablePath: string
  readonly args?: readonly string[]
  readonly env?: Readonly<Record<string, string>>
}

export async function launchBrowser(): Promise<LaunchedBrowser> {
  const { chromium } = await import('playwright-core')
  const reasons: string[] = []
  for (const find of candidates()) {
    try {
      const candidate = await find()
      if (candidate === undefined) continue
      const { executablePath, args = [], env = {} } = candidate
      const browser = await chromium.launch({
        executablePath,
        // A container gives 64 MB of shared memory, which is too little for Chromium.
        args: ['--disable-dev-shm-usage', '--font-render-hinting=none', ...args],
        env: { ...(process.env as Record<string, string>), ...env },
      })
      return { browser, found: `${executablePath} (${browser.version()})` }
    } catch (error) {
      reasons.push((error as Error).message.split('\n').slice(0, 4).join(' '))
    }
  }
  if (reasons.length === 0)
    reasons.push(`none is installed, and npm brings none for ${process.platform} ${process.arch}`)
  return { browser: undefined, reason: reasons.join('; ') }
}

type Find = () => Promise<Candidate | undefined>

/** Somebody who names a browser wants that one and no other. */
function candidates(): readonly Find[] {
  const { MAYFLY_CHROME: named } = process.env
  if (named === undefined) return [...installedBrowsers(), npmBrowser]
  return named === 'npm' ? [npmBrowser] : [async () => ({ executablePath: named })]
}

function installedBrowsers(): Find[] {
  const names = ['google-chrome', 'google-chrome-stable', 'chromium', 'chromium-browser', 'chrome', 'microsoft-edge']
  const inPath = (process.env.PATH ?? '')
    .split(delimiter)
    .flatMap(folder => names.map(name => join(folder, process.platform === 'win32' ? `${name}.exe` : name)))
  const onMac = ['Google Chrome', 'Chromium', 'Microsoft Edge'].map(
    name => `/Applications/${name}.app/Contents/MacOS/${name}`,
  )
  const { ProgramFiles = 'C:\\Program Files', LOCALAPPDATA = '' } = process.env
  const onWindows = [ProgramFiles, `${ProgramFiles} (x86)`, LOCALAPPDATA].flatMap(folder => [
    join(folder, 'Google', 'Chrome', 'Application', 'chrome.exe'),
    join(folder, 'Microsoft', 'Edge', 'Application', 'msedge.exe'),
  ])
  const places = [
    ...inPath,
    ...(process.platform === 'darwin' ? onMac : []),
    ...(process.platform === 'win32' ? onWindows : []),
  ]
  return [...new Set(places)].filter(path => existsSync(path)).map(executablePath => async () => ({ executablePath }))
}

/** The settings of the package name other folders. Without any font, Chromium ends with its first text. */
function fontSettings(folder: string): string {
  return `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(folder, 'fonts')}</dir>
  <cachedir>${join(folder, 'cache')}</cachedir>
</fontconfig>
`
}

/**
 * The package unpacks 210 MB into the folder of TMPDIR and never looks whether what lies there is of its
 * version or whole. So each version gets a folder of its own, which appears by a rename when it is complete.
 */
async function npmBrowser(): Promise<Candidate | undefined> {
  if (process.platform !== 'linux' || process.arch !== 'x64') return undefined
  const home = dirname(
    createRequire(import.meta.url)
      .resolve('@sparticuz/chromium')
      .replace(/build[\\/].*$/, 'package.json'),
  )
  const { version } = JSON.parse(readFileSync(join(home, 'package.json'), 'utf8'))
  const cache = join(import.meta.dirname, '../../node_modules/.cache')
  const folder = join(cache, `chromium-${version}-fonts`)
  if (!existsSync(folder)) {
    mkdirSync(cache, { recursive: true })
    const unpacking = mkdtempSync(`${folder}-`)
    await unpackInto(unpacking)
    writeFileSync(join(unpacking, 'fonts', 'fonts.conf'), fontSettings(join(folder, 'fonts')))
    try {
      renameSync(unpacking, folder)
    } catch (error) {
      // Another test file was faster.
      rmSync(unpacking, { recursive: true, force: true })
      if (!existsSync(folder)) throw error
    }
  }
  return {
    executablePath: join(folder, 'chromium'),
    args: ['--no-zygote', '--disable-gpu', '--headless=shell'],
    env: { FONTCONFIG_PATH: join(folder, 'fonts'), LD_LIBRARY_PATH: join(folder, 'al2023', 'lib') },
  }
}

async function unpackInto(folder: string): Promise<void> {
  const { TMPDIR, AWS_LAMBDA_JS_RUNTIME } = process.env
  process.env.TMPDIR = folder
  // Without it the package leaves out the libraries that a bare machine does not have.
  process.env.AWS_LAMBDA_JS_RUNTIME ??= 'nodejs24.x'
  try {
    const { default: chromium } = await import('@sparticuz/chromium')
    await chromium.executablePath()
  } finally {
    restore('TMPDIR', TMPDIR)
    restore('AWS_LAMBDA_JS_RUNTIME', AWS_LAMBDA_JS_RUNTIME)
  }
}

function restore(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name]
  else process.env[name] = value
}
