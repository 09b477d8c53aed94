// The library for `require`. It loads the modules with Node's own `require`: that of a test runner such as jest
// knows no ES modules, and would replace the timers that Mayfly needs.

'use strict'

const node = require('./check-node.cjs')

if (node.complaint !== undefined) throw new Error(node.complaint)
node.loadSqliteQuietly()

const { createRequire } = process.getBuiltinModule('node:module')

exports.mayfly = createRequire(__filename)(node.hasSources ? '../src/index.ts' : '../dist/index.js').mayfly
