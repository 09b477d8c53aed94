import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import test from 'node:test'
import { fileSettings } from './settings.ts'

test('every commit is synced before it is acknowledged, also in WAL mode', () => {
  const directory = mkdtempSync(join(tmpdir(), 'mayfly-settings-'))
  {
    using db = new DatabaseSync(join(directory, 'x.db'))
    db.exec(fileSettings)
    const pragma = (name: string) => Object.values(db.prepare(`PRAGMA ${name}`).get()!)[0]
    assert.deepEqual([pragma('synchronous'), pragma('journal_mode')], [2, 'wal'])
  }
  rmSync(directory, { recursive: true })
})
