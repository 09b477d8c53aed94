/**
 * Makes the declarations that `import 'mayfly'` has in a checkout, if they are missing or out of date.
 * `npm ci` and `npm run check` start it. The package has those of `npm run build`.
 *
 * Plain JavaScript, because an installation without development packages runs it as well, with any Node.
 * There it does nothing: the compiler is missing.
 */

import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const compiler = join(root, 'node_modules/typescript/bin/tsc')
/** `files` in package.json publishes their declarations. */
const sources = ['src/index.ts', 'src/ttl/report-shapes.ts']

function isMade() {
  const made = join(root, 'dist/index.d.ts')
  return existsSync(made) && sources.every(source => statSync(join(root, source)).mtimeMs <= statSync(made).mtimeMs)
}

if (existsSync(compiler) && !isMade()) {
  const flags = ['--project', 'tsconfig.build.json', '--emitDeclarationOnly', '--noCheck']
  const { status } = spawnSync(process.execPath, [compiler, ...flags], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
}
