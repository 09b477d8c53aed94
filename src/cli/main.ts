/** The mayfly command: runs what the arguments ask for, and prints refusals as one sentence. */

import { MayflyError } from '../base/error.ts'
import { Interrupted, interruptedExitCode } from './interrupt.ts'
import { helpAsked, mayflyProgram, showHelp } from './program.ts'

export async function main(argv: readonly string[]): Promise<void> {
  // The reader of the output, for instance `head`, may close it early.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
  })
  try {
    const program = mayflyProgram(argv)
    const help = helpAsked(program, argv)
    if (help !== undefined) showHelp(program, help)
    else await program.parseAsync(argv, { from: 'user' })
  } catch (error) {
    if (!(error instanceof MayflyError) && !isOfSystem(error)) throw error
    process.stderr.write(`mayfly: ${error.message}\n`)
    process.exitCode = error instanceof Interrupted ? interruptedExitCode : 1
  }
}

/** Whether the operating system refused a file. The user can solve that; it is not a bug. */
function isOfSystem(error: unknown): error is Error {
  return error instanceof Error && 'syscall' in error && 'path' in error
}
