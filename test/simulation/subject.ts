/** The stores that random histories run over, with operations that the port lacks, such as a crash. */

import { copyFileSync, existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import type { Clock, StoredTime } from '../../src/base/clock.ts'
import type { Store } from '../../src/store/port.ts'
import { fail } from './fixture.ts'

export type MakeClock = (stored: StoredTime) => Clock

/** One store for the length of one history. */
export interface Subject extends AsyncDisposable {
  /** All calls of one turn are one commit, and versions count the writes of the whole container. */
  readonly isOneCommit: boolean
  /** The data outlive closing. */
  readonly isLasting: boolean
  open(clock: MakeClock): Promise<Store>
  /** Ends the store like a killed process, in the middle of these writes. Tells whether they happened. */
  kill(store: Store, writes: readonly Promise<unknown>[]): Promise<'lost' | 'happened'>
}

function open(directory: string | undefined, clock: MakeClock): Store {
  return withContract(openSqlite({ directory, clock, onFatal: fail }))
}

export async function sqliteInMemory(): Promise<Subject> {
  return {
    isOneCommit: true,
    isLasting: false,
    open: async clock => open(undefined, clock),
    kill: () => fail(new Error('nothing would be left')),
    [Symbol.asyncDispose]: async () => {},
  }
}

export async function sqliteOnDisk(): Promise<Subject> {
  let directory = temporaryDirectory()
  return {
    isOneCommit: true,
    isLasting: true,
    open: async clock => open(directory, clock),
    /** Copies the files in the middle of a turn; unacknowledged writes are not in the copy. */
    kill: async (store, writes) => {
      const before = directory
      directory = temporaryDirectory()
      for (const name of ['mayfly.db', 'mayfly.db-wal']) {
        if (existsSync(join(before, name))) copyFileSync(join(before, name), join(directory, name))
      }
      await Promise.all([...writes, store[Symbol.asyncDispose]()])
      rmSync(before, { recursive: true })
      return 'lost'
    },
    [Symbol.asyncDispose]: async () => rmSync(directory, { recursive: true }),
  }
}

function temporaryDirectory(): string {
  return mkdtempSync(join(tmpdir(), 'mayfly-simulation-'))
}
