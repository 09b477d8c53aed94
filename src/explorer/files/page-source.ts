/** Reads the files of the built page from a folder, or from the executable. */

import { readdir, readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { embeddedBytes, embeddedNames } from '../../base/embedded.ts'
import { RequestError } from '../../base/error.ts'
import { MiB } from '../../base/limits.ts'

export interface PageSource {
  /** Another number after each build; undefined: nothing is built. */
  builtMs(): Promise<number | undefined>
  names(): Promise<readonly string[]>
  read(name: string): Promise<Buffer>
}

/** More files than the page has, so that a wrong folder is not read into memory. */
const fileBytesMax = 8 * MiB
const filesMax = 500

export function pageInFolder(folder: string): PageSource {
  return {
    builtMs: async () => (await stat(join(folder, 'index.html')).catch(() => undefined))?.mtimeMs,
    names: async () => {
      const entries = await readdir(folder, { recursive: true, withFileTypes: true })
      const files = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name))
      return files.slice(0, filesMax).map(path => path.slice(folder.length + 1).replaceAll('\\', '/'))
    },
    read: async name => {
      const path = join(folder, name)
      if ((await stat(path)).size > fileBytesMax) throw new RequestError('too_large', `The file ${name} is too large.`)
      return await readFile(path)
    },
  }
}

export function embeddedPage(prefix: string): PageSource {
  return {
    builtMs: async () => 1,
    names: async () => embeddedNames(prefix).map(name => name.slice(prefix.length)),
    read: async name => Buffer.from(embeddedBytes(prefix + name)!),
  }
}
