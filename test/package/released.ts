/** What `npm run release -- --dry-run` made: the tests of this folder use it, and `npm run walk` makes it. */

import { globSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const release = fileURLToPath(new URL('../../release', import.meta.url))

function only(pattern: string): string {
  const found = globSync(pattern, { cwd: release })
  if (found.length !== 1) throw new Error(`release/${pattern} is not one file: run "npm run release -- --dry-run"`)
  return join(release, found[0]!)
}

/** The packed package. */
export const releasedPackage = (): string => only('mayfly-*.tgz')
export const releasedArchive = (): string => only('mayfly-*.tar.gz')
