// The library for `import`: checks the version of Node, then loads the compiled code, or in a checkout the
// sources.

import node from './check-node.cjs'

if (node.complaint !== undefined) throw new Error(node.complaint)
node.loadSqliteQuietly()

export const { mayfly } = await import(node.hasSources ? '../src/index.ts' : '../dist/index.js')
