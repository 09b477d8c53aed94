/** Fills a new folder. If that fails, the folders that were made for it and are empty are removed. */

import { existsSync, readdirSync, rmdirSync } from 'node:fs'
import { dirname, resolve } from 'node:path'

export async function inNewFolder<T>(folder: string, fill: () => Promise<T>): Promise<T> {
  const made = missingFolders(resolve(folder))
  try {
    return await fill()
  } catch (error) {
    for (const each of made) if (existsSync(each) && readdirSync(each).length === 0) rmdirSync(each)
    throw error
  }
}

/** The innermost first. */
function missingFolders(folder: string): string[] {
  return existsSync(folder) ? [] : [folder, ...missingFolders(dirname(folder))]
}
