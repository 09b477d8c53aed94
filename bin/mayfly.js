#!/usr/bin/env node
// The mayfly command: checks that this Node can run it, then hands over. From a checkout it runs the sources.

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
      'From a checkout, "npm ci && npm start" brings its own.\n',
  )
  process.exit(1)
}

// From the second start on neither types are stripped nor scripts compiled.
nodeModule.enableCompileCache?.()

process.removeAllListeners('warning')
process.on('warning', warning => {
  // node:sqlite is stable enough for us; its notice would be the first thing every user reads.
  if (warning.name !== 'ExperimentalWarning') process.stderr.write(`${warning.stack}\n`)
})

const { main } = await import((runsSource ? source : compiled).href)
await main(process.argv.slice(2))
