/** Checks the data file of a killed server before anything has repaired it. */

import { copyFileSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { deserialize } from 'bson'
import { versionOf } from './item-model.ts'
import { check } from './violation.ts'
import type { World } from './world.ts'

interface ContainerRow {
  readonly number: number
  readonly id: string
  readonly item_version: number
  readonly item_rows: number
  readonly encoding: 'json' | 'bson'
}

interface ItemRow {
  readonly version: number
  readonly ts: number
  readonly deadline: number | null
  readonly body: string | Uint8Array
}

const files = ['mayfly.db', 'mayfly.db-wal']

/** On a copy, so that the server itself opens the file as the kill left it. */
export function checkCopy(directory: string, world: World): void {
  const copy = `${directory}-copy`
  rmSync(copy, { recursive: true, force: true })
  mkdirSync(copy)
  for (const file of files) {
    if (existsSync(join(directory, file))) copyFileSync(join(directory, file), join(copy, file))
  }
  checkFile(copy, world)
  rmSync(copy, { recursive: true })
}

/**
 * Opening the file recovers it, and closing it runs a checkpoint: another state for the server to start from.
 */
export function checkFile(directory: string, { timeline, models }: World): void {
  const db = new DatabaseSync(join(directory, 'mayfly.db'))
  try {
    const found = db.prepare('PRAGMA integrity_check').all() as { integrity_check: string }[]
    check(found[0]?.integrity_check === 'ok', `the file is damaged: ${JSON.stringify(found)}`)
    const { mark } = db.prepare('SELECT high_water_mark AS mark FROM clock').get() as { mark: number }
    check(mark >= timeline.now, `the file remembers the time ${mark}; ${timeline.now} was acknowledged`)

    const containers = db.prepare('SELECT * FROM containers').all() as unknown as ContainerRow[]
    for (const container of containers) checkContainer(db, container, models.get(container.id)?.versions.newest ?? 0)
    for (const container of containers) checkEntries(db, container)
    checkTables(db, containers)
  } finally {
    db.close()
  }
}

function checkContainer(db: DatabaseSync, container: ContainerRow, acknowledged: number): void {
  const { number, id, item_version, item_rows, encoding } = container
  const rows = db.prepare(`SELECT version, ts, deadline, body FROM items_${number}`).all() as unknown as ItemRow[]
  check(rows.length === item_rows, `${id} has ${rows.length} rows and remembers ${item_rows}`)
  check(item_version >= acknowledged, `${id} is at version ${item_version}; ${acknowledged} was acknowledged`)
  for (const { version, ts, deadline, body } of rows) {
    const isText = encoding === 'json'
    const item = isText ? JSON.parse(body as string) : deserialize(body as Uint8Array)
    const own = item.ttl === undefined ? null : item.ttl === -1 ? Number.MAX_SAFE_INTEGER : ts + item.ttl
    // Documents of Mongo, and what the server itself keeps, have no stamps in their bodies.
    const isPlain = !isText || id === 'mongo-sessions'
    const isStamped = isPlain || (item._ts === ts && versionOf(item._etag) === version)
    check(
      isStamped && version <= item_version && deadline === own,
      `a row of ${id} does not agree with itself: version ${version}, ts ${ts}, deadline ${deadline}, ` +
        `${JSON.stringify(item).slice(-300)}`,
    )
  }
}

/** Every item has its entry in every finished index, and no entry has lost its item. */
function checkEntries(db: DatabaseSync, { number, id, item_rows }: ContainerRow): void {
  const orphans = db
    .prepare(
      `SELECT count(*) AS count FROM entries_${number} WHERE sequence NOT IN (SELECT sequence FROM items_${number})`,
    )
    .get() as { count: number }
  check(orphans.count === 0, `${orphans.count} index entries of ${id} have no item`)
  const indexes = db.prepare('SELECT number, is_ready FROM indexes WHERE container = ?').all(number)
  for (const index of indexes as { number: number; is_ready: number }[]) {
    const entries = db.prepare(`SELECT count(*) AS count FROM entries_${number} WHERE number = ?`).get(index.number)
    const { count } = entries as { count: number }
    check(index.is_ready === 0 || count === item_rows, `an index of ${id} has ${count} entries for ${item_rows} items`)
  }
}

/** Every container has its tables, and all others wait to be reclaimed. */
function checkTables(db: DatabaseSync, containers: readonly ContainerRow[]): void {
  const tables = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '*[a-z]_[0-9]*'")
  const doomed = db.prepare('SELECT container FROM doomed').all() as { container: number }[]
  const owners = [...containers.map(({ number }) => number), ...doomed.map(({ container }) => container)]
  const present = (tables.all() as { name: string }[]).map(({ name }) => name).sort()
  const expected = owners.flatMap(number => [`items_${number}`, `entries_${number}`]).sort()
  check(present.join() === expected.join(), `the file has the tables ${present.join()} and not ${expected.join()}`)
}
