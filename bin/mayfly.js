#!/usr/bin/env node
// The mayfly command: checks the version of Node, then runs the CLI. In a checkout it runs the sources.

import * as nodeModule from 'node:module'
import node from '../entry/check-node.cjs'

if (node.complaint !== undefined) {
  process.stderr.write(`${node.complaint}\n`)
  process.exit(1)
}

// Keeps stripped and compiled code on disk, so that later starts are faster.
nodeModule.enableCompileCache?.()

// Node would open a debugger, through which everybody on this machine could run code in the server.
process.on('SIGUSR1', () => {})

process.removeAllListeners('warning')
process.on('warning', warning => {
  // Hides the notice of node:sqlite, which would be the first thing that every user reads.
  if (warning.name !== 'ExperimentalWarning') process.stderr.write(`${warning.stack}\n`)
})

const { main } = await import(node.hasSources ? '../src/cli/main.ts' : '../dist/cli/main.js')
await main(process.argv.slice(2))
