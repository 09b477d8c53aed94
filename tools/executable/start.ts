/** Where the single executable begins: runs the command, as bin/mayfly.js does with Node. */

import { main } from '../../src/cli/main.ts'

// Node would open a debugger, through which everybody on this machine could run code in the server.
process.on('SIGUSR1', () => {})

void main(process.argv.slice(2))
