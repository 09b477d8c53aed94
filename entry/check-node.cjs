// Says which Node is needed if this one is too old. It runs on every Node, so it is plain CommonJS.

'use strict'

const { existsSync } = require('node:fs')
const { join } = require('node:path')

const [major, minor] = process.versions.node.split('.').map(Number)

/** A checkout has sources, and runs them. The package has compiled code. */
exports.hasSources = existsSync(join(__dirname, '../src/index.ts'))

// Sources need a Node that strips types; the package needs node:sqlite.
const needed = exports.hasSources ? [22, 18] : [22, 13]

/** Undefined if this Node will do. */
exports.complaint =
  major > needed[0] || (major === needed[0] && minor >= needed[1])
    ? undefined
    : `Mayfly needs Node ${needed.join('.')} or newer; this is ${process.versions.node}.`

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
