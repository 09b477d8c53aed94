/**
 * Keeps the explorer page of a checkout up to date: its first request builds it, if its sources are newer.
 *
 * `npm ci` builds it too, so there is rarely anything to do. The package has the built page and no sources.
 */

import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { isExecutable } from '../base/embedded.ts'
import type { Logger } from '../base/log.ts'

const builder = fileURLToPath(new URL('../../web/build.js', import.meta.url))
/** A build takes 2 s on a quiet machine. After this time the page of the last build is served. */
const buildMsMax = 60_000

/** Ends when the built page is as new as its sources, or could not be built: then the log says why. */
export async function buildPage(log: Logger): Promise<void> {
  // The executable may lie anywhere: a web folder near it is not Mayfly's.
  if (isExecutable || !existsSync(builder)) return
  try {
    await promisify(execFile)(process.execPath, [builder], { timeout: buildMsMax })
  } catch (error) {
    log.warn({ error }, 'the explorer page could not be built; "node web/build.js" shows why')
  }
}
