// The library for `require`. It loads the modules with Node's own loader: that of a test runner such as
// jest knows no ES modules, and would replace the process and the timers that Mayfly needs.

'use strict'

const { Module } = require('node:module')
const { join } = require('node:path')

// jest replaces `require` and `createRequire`, but not the class of modules.
const load = path => new Module(__filename).require(join(__dirname, path))

const node = load('check-node.cjs')
if (node.complaint !== undefined) throw new Error(node.complaint)
node.loadSqliteQuietly()

exports.mayfly = load(node.hasSources ? '../src/index.ts' : '../dist/index.js').mayfly
