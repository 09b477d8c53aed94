/**
 * Tests of the explorer page: a server with a manual clock, a browser, and pages that forgive nothing. A
 * test fails on any error in the console, any breach of the content security policy, any request to another
 * host, and any answer with a failure that the test did not announce.
 */

import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { after, type TestContext, test } from 'node:test'
import type { Browser, BrowserContext, BrowserContextOptions, Page } from 'playwright-core'
import type { TimeSource } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { type MayflyOptions, mayfly } from '../../src/index.ts'
import { type FlagValues, parseConfig, settings } from '../../src/server/config.ts'
import { type RunningServer, startServer } from '../../src/server/start.ts'
import { launchBrowser } from './browser.ts'
import { type TestServer, testServer } from './start-server.ts'

export interface PageOptions {
  readonly theme?: 'dark' | 'light'
  readonly width?: number
  readonly height?: number
  readonly isMotionReduced?: boolean
  /** Statuses of the API that this test provokes. The browser reports each as an error in the console. */
  readonly failures?: readonly number[]
  /** For a test that breaks the line: the browser reports each request that nobody answers. */
  readonly losesConnection?: boolean
}

export interface OpenPage {
  readonly page: Page
  readonly context: BrowserContext
  /** What went wrong so far. The test fails if there is anything at its end. */
  readonly problems: string[]
  /** Opens a path below `/_explorer/`. */
  open(path?: string): Promise<void>
}

export interface PageTests {
  /** A test in a page of its own. Without a browser it is skipped, and fails where CI is set. */
  test(name: string, options: PageOptions, run: (opened: OpenPage, context: TestContext) => Promise<void>): void
  /** A page beside that of the test, for instance of a second person. */
  openPage(options?: PageOptions): Promise<OpenPage>
}

export interface Explorer extends TestServer, PageTests {}

/** A page that hangs must not hold up all tests. */
const testMsMax = 60_000

const launched = await launchBrowser()
after(() => launched.browser?.close())

/** Starts a server that ends with the test file. Call it at the top of the file. */
export async function startExplorer(options: MayflyOptions = {}): Promise<Explorer> {
  const db = await mayfly({ clock: 'manual', ...options })
  after(() => db.close())
  return { ...testServer(db), ...pageTests(db.endpoint) }
}

/** Starts a server in memory that the library has no options for, as the command line would. */
export async function startConfigured(given: FlagValues, timeSource?: TimeSource): Promise<RunningServer> {
  const server = await startUntilDisposed(given, timeSource)
  after(() => server[Symbol.asyncDispose]())
  return server
}

/** The same, for a server that ends before the test file does. */
export function startUntilDisposed(given: FlagValues, timeSource?: TimeSource): Promise<RunningServer> {
  const config = parseConfig(settings({ port: '0', noMongo: true, memory: true, logLevel: 'silent', ...given }, {}))
  return startServer(config, silentLog, { holdsProcess: false, ...(timeSource && { timeSource }) })
}

/** Tests of the page of a server. */
export function pageTests(endpoint: string): PageTests {
  const openPage = (pageOptions: PageOptions = {}) => openPageOf(requireBrowser(), endpoint, pageOptions)
  return {
    openPage,
    test: (name, pageOptions, run) => {
      if (launched.browser === undefined && process.env.CI === undefined) {
        test(`NOT RUN, no Chromium (${launched.reason}): ${name}`, { skip: true }, () => {})
        return
      }
      test(name, { timeout: testMsMax }, async context => {
        const opened = await openPage(pageOptions)
        try {
          await run(opened, context)
          assert.deepEqual(opened.problems, [])
        } catch (error) {
          await describeFailure(opened, context)
          throw error
        } finally {
          await opened.context.close()
        }
      })
    },
  }
}

function requireBrowser(): Browser {
  if (launched.browser === undefined) throw new Error(`no Chromium: ${launched.reason}`)
  return launched.browser
}

/** Runs in the page, and puts what the policy refused into the console, where the test listens. */
const reportPolicy = `addEventListener('securitypolicyviolation', event =>
  console.error('content security policy: ' + event.violatedDirective + ' ' + event.blockedURI))`

export async function openPageOf(browser: Browser, endpoint: string, options: PageOptions): Promise<OpenPage> {
  const { theme = 'dark', width = 1440, height = 900, isMotionReduced = false } = options
  const { failures = [], losesConnection = false } = options
  const contextOptions: BrowserContextOptions = {
    // On every machine the same, also where LANG=C would make it en-US@posix.
    locale: 'en-US',
    timezoneId: 'UTC',
    viewport: { width, height },
    colorScheme: theme,
    reducedMotion: isMotionReduced ? 'reduce' : 'no-preference',
    acceptDownloads: true,
    permissions: ['clipboard-read', 'clipboard-write'],
  }
  const context = await browser.newContext(contextOptions)
  context.setDefaultTimeout(30_000)
  const problems: string[] = []
  await context.addInitScript(reportPolicy)
  const watch = (page: Page) => {
    page.on('console', message => {
      if (message.type() !== 'error') return
      const status = Number(/^Failed to load resource: .* status of (\d+)/.exec(message.text())?.[1])
      const isOfApi = message.location().url.startsWith(`${endpoint}/_explorer/api/`)
      const isLost = losesConnection && /^Failed to load resource: net::ERR_|^GET .* net::ERR_/.test(message.text())
      if (!(isLost || (isOfApi && failures.includes(status))))
        problems.push(`console: ${message.text()} ${message.location().url}`)
    })
    page.on('pageerror', error => problems.push(`error in the page: ${error.stack ?? error.message}`))
    page.on('request', request => {
      const url = request.url()
      if (!url.startsWith(`${endpoint}/_explorer/`) && !url.startsWith('blob:')) problems.push(`request to ${url}`)
    })
  }
  context.on('page', watch)
  const page = await context.newPage()
  return {
    page,
    context,
    problems,
    open: async (path = '') => {
      await page.goto(`${endpoint}/_explorer/${path}`)
    },
  }
}

/** Writes a text into a code editor as a person does, in the place of what is there. */
export async function writeCode(page: Page, label: string, text: string): Promise<void> {
  await page.locator(`.cm-content[aria-label="${label}"]`).click()
  await page.keyboard.press('ControlOrMeta+A')
  await page.keyboard.press('Delete')
  await page.keyboard.insertText(text)
}

/** What a person would look at first, for the log of a run that nobody watched. */
async function describeFailure({ page, problems }: OpenPage, context: TestContext): Promise<void> {
  context.diagnostic(`at ${page.url()}`)
  for (const problem of problems) context.diagnostic(problem)
  const folder = process.env.MAYFLY_SHOTS
  if (folder === undefined) return
  const name = context.name.replaceAll(/\W+/g, '-')
  await page.screenshot({ path: `${folder}/${name}.png` }).catch(() => {})
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/** Runs in the page. A button that is changing its colour has a poor contrast on the way. */
const runAxe = `document.getAnimations().filter(each => each instanceof CSSTransition).forEach(each => each.finish())
axe.run(document, { resultTypes: ['violations'] }).then(({ violations }) =>
  violations
    .filter(each => each.impact === 'serious' || each.impact === 'critical')
    .map(each => each.id + ': ' + each.nodes.slice(0, 4).map(node =>
      node.target.join(' ') + ': ' + node.failureSummary).join('\\n')))`

/** Fails if axe finds anything serious or critical on the page as it is now. */
export async function assertAccessible(page: Page, where: string): Promise<void> {
  await page.evaluate(axe)
  assert.deepEqual(await page.evaluate<string[]>(runAxe), [], where)
}

/** The same in both themes, for a page that follows the system. */
export async function assertAccessibleInBoth(page: Page, where: string): Promise<void> {
  for (const colorScheme of ['dark', 'light'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    await assertAccessible(page, `${where}, ${colorScheme}`)
  }
}
