/**
 * The admin call that sends a backup of the store to the client.
 *
 * The copy is first made in a file beside the data, because only a complete copy shows one moment. The
 * client gives no path: a server that writes to any path that a client names would be a security hole.
 */

import { closeSync, createReadStream, mkdirSync, mkdtempSync, openSync, readdirSync, rmSync, statSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RequestError } from '../base/error.ts'
import { newActivityId } from '../base/identifier.ts'
import { type AnswerParts, sendPieces } from './streamed-answer.ts'

const folderPrefix = 'mayfly.backup-'

/** Folders of copies that are being sent. Other folders with such a name are left from a killed server. */
const inUse = new Set<string>()

/** `dataDirectory`: undefined if the data is not in one. */
export async function answerBackup(
  { engine, memory, dataDirectory }: AnswerParts & { readonly dataDirectory: string | undefined },
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  if (req.method !== 'POST') throw new RequestError('method_not_allowed', 'A backup is made with POST.')
  const folder = dataDirectory === undefined ? mkdtempSync(join(tmpdir(), folderPrefix)) : newFolderIn(dataDirectory)
  try {
    const copy = join(folder, 'copy.db')
    // Made here with mode 600, because SQLite would make a file that others can read.
    closeSync(openSync(copy, 'wx', 0o600))
    await engine.backUp(copy)
    const headers = { 'content-type': 'application/vnd.sqlite3', 'content-length': String(statSync(copy).size) }
    await sendPieces(res, memory, headers, () => createReadStream(copy, { highWaterMark: 1024 * 1024 }))
  } finally {
    await rm(folder, { recursive: true, force: true })
    inUse.delete(folder)
  }
}

function newFolderIn(dataDirectory: string): string {
  for (const name of readdirSync(dataDirectory)) {
    const path = join(dataDirectory, name)
    if (name.startsWith(folderPrefix) && !inUse.has(path)) rmSync(path, { recursive: true, force: true })
  }
  const folder = join(dataDirectory, `${folderPrefix}${newActivityId()}`)
  inUse.add(folder)
  mkdirSync(folder, { mode: 0o700 })
  return folder
}
