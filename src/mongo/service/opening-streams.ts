/**
 * Change streams that are being opened. Commands that write and arrive later wait for them: a stream shows
 * what was written after it arrived, even if its collections must first begin to keep a log.
 */

/** The commands that wait: all that leave something in the journal. */
export const waitsForStreams: ReadonlySet<string> = new Set([
  'insert',
  'update',
  'delete',
  'findAndModify',
  'findandmodify',
  'commitTransaction',
  'create',
  'drop',
  'dropDatabase',
  'renameCollection',
  'collMod',
  'createIndexes',
  'dropIndexes',
  'deleteIndexes',
  'customAction',
  'shardCollection',
])

export class OpeningStreams {
  #count = 0
  #opened: Promise<void> | undefined
  #resolve: (() => void) | undefined

  /** Resolves when all streams that have arrived are open. undefined: none is being opened. */
  get opened(): Promise<void> | undefined {
    return this.#opened
  }

  async hold<T>(opening: Promise<T>): Promise<T> {
    this.#count++
    this.#opened ??= new Promise(resolve => {
      this.#resolve = resolve
    })
    try {
      return await opening
    } finally {
      this.#count--
      if (this.#count === 0) {
        this.#resolve!()
        this.#opened = undefined
      }
    }
  }
}
