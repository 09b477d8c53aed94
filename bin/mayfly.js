#!/usr/bin/env node
// The mayfly command: checks the version of Node, then runs the CLI. In a checkout it runs the sources.

import { existsSync } from 'node:fs'
import * as nodeModule from 'node:module'

const [major, minor] = process.versions.node.split('.').map(Number)
const compiled = new URL('../dist/cli/main.js', import.meta.url)
const source = new URL('../src/cli/main.ts', import.meta.url)
const runsSource = existsSync(source)
// Sources need a Node that strips types; the published package needs node:sqlite.
const needed = runsSource ? [22, 18] : [22, 13]

if (major < needed[0] || (major === needed[0] && minor < needed[1])) {
  process.stderr.write(
    `Mayfly needs Node ${needed.join('.')} or newer; this is ${process.versions.node}. ` +
      'In a checkout, "npm ci && npm start" installs and uses the right one.\n',
  )
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

const { main } = await import((runsSource ? source : compiled).href)
await main(process.argv.slice(2))
