/**
 * Checks that the parts of a data file agree with each other: items, index entries, unique keys, counters,
 * the change log, tables and catalog. It only reads.
 *
 * The file must not be written meanwhile: it is a copy, or no server uses it.
 */

import type { DatabaseSync } from 'node:sqlite'
import { RequestError } from '../../base/error.ts'
import type { Body } from '../../document/body.ts'
import type { KeyMaker } from '../../document/index-keys.ts'
import type { ContainerRecord, IndexRecord } from '../../store/catalog.ts'
import type { ScannedItem } from '../../store/item.ts'
import { isAlive, livingAt } from '../../ttl/living.ts'
import { type ContainerRow, type DatabaseRow, toContainer, toDatabase } from '../catalog-rows.ts'
import { itemIndexKeys } from '../item-index-keys.ts'
import { isForeign, translate } from './file/errors.ts'
import { readUntouched } from './file/read-untouched.ts'
import { entryTable, itemTable, migrations } from './file/schema.ts'
import { loadIndexes } from './index-records.ts'
import { readTimeRow } from './time-row.ts'

export interface CheckedContainer {
  readonly database: string
  readonly container: string
  /** Alive or dead. */
  readonly rows: number
  readonly entries: number
  readonly logRows: number
}

export interface FileReport {
  readonly containers: readonly CheckedContainer[]
  /** Sentences, at most `problemsMax`. */
  readonly problems: readonly string[]
}

export interface FileCheck {
  /** The name of the file for the user. */
  readonly name: string
  readonly keysOf: KeyMaker
  /** What is wrong with an item by the rules of its API, as the end of a sentence; undefined: nothing. */
  readonly wrongWith: (container: ContainerRecord, item: ScannedItem) => string | undefined
  readonly onProgress?: (rows: number) => void
}

const problemsMax = 100

/** The last log entry of an item, and the item as it is now. */
interface LastEntry {
  readonly kind: string
  readonly id: string
  readonly version: number
  readonly logged: number
  readonly isSame: number | null
  readonly present: number | null
  readonly sequence: number | null
}

type StoredRow = ContainerRow & { readonly item_version: number; readonly item_rows: number }

export function checkFile(path: string, check: FileCheck): FileReport {
  try {
    return readUntouched(path, db => {
      db.exec('PRAGMA cache_size = -65536; PRAGMA mmap_size = 2147418112; PRAGMA trusted_schema = OFF')
      return new FileChecker(db, check).run()
    })
  } catch (error) {
    if (isForeign(error)) throw new RequestError('malformed', `${check.name} is not a Mayfly file.`, { cause: error })
    throw translate(error)
  }
}

class FileChecker {
  readonly #db: DatabaseSync
  readonly #check: FileCheck
  readonly #problems: string[] = []
  #rowsDone = 0

  constructor(db: DatabaseSync, check: FileCheck) {
    this.#db = db
    this.#check = check
  }

  run(): FileReport {
    const { user_version: format } = this.#db.prepare('PRAGMA user_version').get() as { user_version: number }
    if (format === 0) throw new RequestError('malformed', `${this.#check.name} is not a Mayfly file.`)
    if (format !== migrations.length) {
      const age = format < migrations.length ? 'an older' : 'a newer'
      throw new RequestError(
        'unsupported',
        `${this.#check.name} has ${age} format (${format}, not ${migrations.length}).`,
      )
    }
    for (const { integrity_check: found } of this.#rows<{ integrity_check: string }>('PRAGMA integrity_check')) {
      if (found !== 'ok') this.#found(`The file is damaged: ${found}.`)
    }
    const databases = this.#rows<DatabaseRow>('SELECT * FROM databases').map(toDatabase)
    const containers: CheckedContainer[] = []
    const known: number[] = []
    for (const row of this.#rows<StoredRow>('SELECT * FROM containers ORDER BY number')) {
      known.push(row.number)
      const database = databases.find(({ number }) => number === row.database)
      if (database === undefined) this.#found(`Container ${row.id} belongs to a database that is not there.`)
      else containers.push(this.#container(toContainer(row, database, loadIndexes(this.#db, row.number)), row))
    }
    this.#tables(known)
    return { containers, problems: this.#problems }
  }

  #container(container: ContainerRecord, counters: StoredRow): CheckedContainer {
    const name = `${container.database.id}/${container.id}`
    const ready = container.indexes.filter(({ isReady }) => isReady)
    const rows = this.#items(container, name, ready, counters.item_version)
    if (rows !== counters.item_rows) this.#found(`${name} has ${rows} rows, but counts ${counters.item_rows}.`)
    const entries = this.#entries(container, name)
    for (const index of ready) if (index.definition.uniqueness !== 'none') this.#unique(container, name, index)
    const logRows = this.#log(container, name, counters.item_version)
    return { database: container.database.id, container: container.id, rows, entries, logRows }
  }

  #items(container: ContainerRecord, name: string, ready: readonly IndexRecord[], newest: number): number {
    const { number } = container
    const definitions = ready.map(({ definition }) => definition)
    const hasEntry = this.#db.prepare(
      `SELECT 1 FROM ${entryTable(number)} WHERE number = ? AND key = ? AND sequence = ?`,
    )
    const expected = new Map(definitions.map(index => [index.number, 0]))
    let rows = 0
    const columns = 'sequence, epk, pk, id, ts, deadline, version, body'
    const select = `SELECT ${columns} FROM ${itemTable(number)} ORDER BY sequence`
    for (const row of this.#db.prepare(select).iterate()) {
      rows++
      if (++this.#rowsDone % 1000 === 0) this.#check.onProgress?.(this.#rowsDone)
      const { epk, pk, id, ...rest } = row as unknown as ScannedItem['key'] & Omit<ScannedItem, 'key'>
      const item: ScannedItem = { key: { epk, pk, id }, ...rest }
      const subject = `${name}: the item ${JSON.stringify(id)} of ${pk === '' ? 'the collection' : pk}`
      if (item.version > newest || item.sequence > item.version) {
        this.#found(`${subject} has version ${item.version} and sequence ${item.sequence}; the newest is ${newest}.`)
      }
      const wrong = this.#check.wrongWith(container, item)
      if (wrong !== undefined) this.#found(`${subject} ${wrong}`)
      if (definitions.length === 0) continue
      for (const [at, { keys }] of this.#keysOf(definitions, pk, item.body, subject).entries()) {
        const index = definitions[at]!.number
        expected.set(index, expected.get(index)! + keys.length)
        const missing = keys.filter(key => hasEntry.get(index, key, item.sequence) === undefined)
        if (missing.length > 0) this.#found(`${subject} is missing in index ${index}.`)
      }
    }
    const count = this.#db.prepare(`SELECT count(*) AS n FROM ${entryTable(number)} WHERE number = ?`)
    for (const [index, wanted] of expected) {
      const { n } = count.get(index) as { n: number }
      if (n !== wanted) this.#found(`${name}: index ${index} has ${n} entries; its items have ${wanted} keys.`)
    }
    return rows
  }

  #keysOf(definitions: IndexRecord['definition'][], pk: string, body: Body, subject: string) {
    try {
      return itemIndexKeys(this.#check.keysOf, definitions, { pk, body })
    } catch (error) {
      this.#found(`${subject} cannot be indexed: ${(error as Error).message}`)
      return []
    }
  }

  #entries({ number }: ContainerRecord, name: string): number {
    const orphans = this.#count(
      `SELECT count(*) AS n FROM ${entryTable(number)}
       WHERE sequence NOT IN (SELECT sequence FROM ${itemTable(number)})`,
    )
    if (orphans > 0) this.#found(`${name}: ${orphans} index entries have no item.`)
    return this.#count(`SELECT count(*) AS n FROM ${entryTable(number)}`)
  }

  /** Dead items may share a key with a living one, and with each other. */
  #unique({ number, policy }: ContainerRecord, name: string, { definition }: IndexRecord): void {
    const { mark } = readTimeRow(this.#db)
    const living = livingAt(policy, mark)
    const holders = this.#db.prepare(
      `SELECT i.id, i.ts, i.deadline FROM ${entryTable(number)} e JOIN ${itemTable(number)} i USING (sequence)
       WHERE e.number = ? AND e.key = ?`,
    )
    const shared = this.#db.prepare(
      `SELECT key FROM ${entryTable(number)} WHERE number = ? GROUP BY key HAVING count(*) > 1`,
    )
    for (const { key } of shared.iterate(definition.number)) {
      const found = holders.all(definition.number, key as Uint8Array) as {
        id: string
        ts: number
        deadline: number | null
      }[]
      const alive = found.filter(item => isAlive(living, item))
      if (alive.length < 2) continue
      const ids = alive.map(({ id }) => JSON.stringify(id)).join(', ')
      this.#found(`${name}: the items ${ids} have the same key in unique index ${definition.number}.`)
    }
  }

  /**
   * The last entry of an item must not be newer than the item. With the same version it has the same body.
   */
  #log({ number, logSeconds }: ContainerRecord, name: string, newest: number): number {
    const rows = this.#count('SELECT count(*) AS n FROM log WHERE container = ?', number)
    if (logSeconds === null || rows === 0) return rows
    const last = this.#db.prepare(
      `SELECT l.kind, l.id, l.version, l.sequence AS logged, l.body = i.body AS isSame, i.version AS present,
         i.sequence AS sequence
       FROM log l LEFT JOIN ${itemTable(number)} i ON i.epk = l.epk AND i.pk = l.pk AND i.id = l.id
       WHERE l.number IN (SELECT max(number) FROM log WHERE container = ? AND kind NOT IN ('note', 'end')
         GROUP BY epk, pk, id)`,
    )
    for (const row of last.iterate(number)) {
      const { kind, id, version, logged, isSame, present, sequence } = row as unknown as LastEntry
      const subject = `${name}: the log says of the item ${JSON.stringify(id)}`
      const isGone = kind === 'delete' || kind === 'expire'
      if (version > newest) this.#found(`${subject} version ${version}; the newest is ${newest}.`)
      else if (isGone && sequence === logged) this.#found(`${subject} that it is gone, but it is there.`)
      else if (!isGone && present === null) this.#found(`${subject} that it is there, but it is gone.`)
      else if (!isGone && present === version && isSame !== 1) this.#found(`${subject} another content.`)
      else if (!isGone && present! < version) this.#found(`${subject} version ${version}, but it has ${present}.`)
    }
    return rows
  }

  /** Every container must have its tables. All other tables must belong to deleted containers. */
  #tables(known: readonly number[]): void {
    const doomed = this.#rows<{ container: number }>('SELECT container FROM doomed').map(({ container }) => container)
    const expected = [...known, ...doomed].flatMap(number => [itemTable(number), entryTable(number)])
    const select = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name GLOB '*[a-z]_[0-9]*'"
    const present = this.#rows<{ name: string }>(select).map(({ name }) => name)
    for (const name of present) if (!expected.includes(name)) this.#found(`The table ${name} belongs to no container.`)
    for (const name of expected) if (!present.includes(name)) this.#found(`The table ${name} is missing.`)
  }

  #rows<T>(sql: string): T[] {
    return this.#db.prepare(sql).all() as T[]
  }

  #count(sql: string, ...values: number[]): number {
    return (this.#db.prepare(sql).get(...values) as { n: number }).n
  }

  #found(problem: string): void {
    if (this.#problems.length < problemsMax) this.#problems.push(problem)
  }
}
