/** PostgreSQL as the store of random histories; each history starts with new or emptied tables. */

import { withContract } from '../../src/adapters/contract.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import type { TestServer } from '../support/postgres.ts'
import { fail } from './fixture.ts'
import type { MakeClock, Subject } from './subject.ts'

/** Emptying the tables takes a fifth of the time of creating them again. */
const emptyTables = `
  DO $$ BEGIN
    IF to_regclass('mayfly.clock') IS NOT NULL THEN
      EXECUTE (SELECT 'TRUNCATE ' || string_agg(format('mayfly.%I', tablename), ', ') || ' RESTART IDENTITY'
        FROM pg_tables WHERE schemaname = 'mayfly' AND tablename <> 'format');
      INSERT INTO mayfly.clock VALUES (1, 0);
      INSERT INTO mayfly.catalog VALUES (1, 0);
    END IF;
  END $$`

export function postgresSubjects(server: TestServer): () => Promise<Subject> {
  const free: string[] = []
  const open = async (url: string, clock: MakeClock) => withContract(await openPostgres({ url, clock, onFatal: fail }))
  return async () => {
    const url = free.pop() ?? (await server.createDatabase())
    await server.query(url, emptyTables)
    return {
      isOneCommit: false,
      isLasting: true,
      open: clock => open(url, clock),
      /** The next gateway starts while the last one still writes: its requests have been sent already. */
      kill: async (store, writes) => {
        const closed = store[Symbol.asyncDispose]()
        await Promise.all(writes)
        await closed
        return 'happened'
      },
      [Symbol.asyncDispose]: async () => {
        free.push(url)
      },
    }
  }
}
