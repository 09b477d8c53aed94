// Says which Node is needed if this one is too old. It runs on every Node, so it is plain CommonJS.

'use strict'

const { existsSync } = require('node:fs')
const { join } = require('node:path')

const [major, minor] = process.versions.node.split('.').map(Number)

/** A checkout has sources, and runs them. The package has compiled code. */
exports.hasSources = existsSync(join(__dirname, '../src/index.ts'))

// Sources need a Node that strips types; the package needs a node:sqlite that tells of open transactions. No 23
// has that.
const neededMinor = exports.hasSources ? 18 : 16

const wayOut = exports.hasSources
  ? '"npm ci && npm start" installs and uses the right one.'
  : '"npm install --save-dev node@24" installs one, which npx and npm scripts use.'

/** Undefined if this Node will do. */
exports.complaint =
  major >= 24 || (major === 22 && minor >= neededMinor)
    ? undefined
    : `Mayfly needs Node 22.${neededMinor} or newer, but not 23; this is ${process.versions.node}. ${wayOut}`

/** Loads node:sqlite without its notice that it is experimental: it would stand in the output of every test. */
exports.loadSqliteQuietly = () => {
  const { emitWarning } = process
  process.emitWarning = (warning, ...rest) => {
    if (!String(warning).startsWith('SQLite is an experimental feature')) emitWarning.call(process, warning, ...rest)
  }
  try {
    process.getBuiltinModule('node:sqlite')
  } finally {
    process.emitWarning = emitWarning
  }
}
