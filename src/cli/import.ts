/**
 * mayfly import: reads files into a container of a running server, shows how far it is, and goes on after an
 * interruption.
 */

import { randomUUID } from 'node:crypto'
import { RequestError } from '../base/error.ts'
import { type ImportBatch, importRows } from '../transfer/import-rows.ts'
import { formats, InputError, type InputFormat, type InputPlace } from '../transfer/input.ts'
import { type KeepTtl, keepTtlModes } from '../transfer/keep-ttl.ts'
import { readRows } from '../transfer/read-rows.ts'
import { addCounts, type ImportCounts, type ImportMode, importModes, noCounts } from '../transfer/target.ts'
import { Checkpoint, type ImportState } from './checkpoint.ts'
import { choice } from './choice.ts'
import { CosmosAccount, type CosmosPlace } from './cosmos-source.ts'
import { besideInput, inputFile } from './input-file.ts'
import { ProgressBar } from './progress.ts'
import { RefusedRows } from './refused-rows.ts'
import { type RemoteContainer, RemoteTarget } from './remote-target.ts'
import { type ConnectionFlags, pathOf, Refused, ServerConnection } from './server-connection.ts'
import { parseTtl } from './ttl-text.ts'

export interface ImportFlags extends ConnectionFlags {
  readonly database: string
  readonly container: string
  readonly partitionKey?: string
  readonly api?: string
  readonly ttl?: string
  readonly mode: string
  readonly keepTtl: string
  readonly format?: string
  /** The connection string of another account. */
  readonly from?: string
  readonly fromDatabase?: string
  readonly fromContainer?: string
  readonly state?: string
  readonly restart?: boolean
  readonly json?: boolean
}

/** Some rows were refused. */
const refusedExitCode = 2
const interruptedExitCode = 130

interface Plan {
  readonly connection: ServerConnection
  readonly flags: ImportFlags
  readonly mode: ImportMode
  readonly keepTtl: KeepTtl
  readonly format: InputFormat | undefined
  readonly container: RemoteContainer
  readonly bar: ProgressBar
  readonly signal: AbortSignal
}

export async function importFiles(paths: readonly string[], flags: ImportFlags): Promise<void> {
  const mode = choice(flags.mode, importModes, '--mode')
  const keepTtl = choice(flags.keepTtl, keepTtlModes, '--keep-ttl')
  const format = flags.format === undefined ? undefined : choice(flags.format, formats, '--format')
  if (new Set(paths).size < paths.length) throw new RequestError('malformed', 'A file is named twice.')
  if ((paths.length === 0) === (flags.from === undefined)) {
    throw new RequestError('malformed', 'Name files, or another account with --from.')
  }
  for (const path of paths) inputFile(path)
  const connection = new ServerConnection(flags)
  const container = await openContainer(connection, flags)
  const bar = new ProgressBar()
  const plan = { connection, flags, mode, keepTtl, format, container, bar, signal: stopSignal() }
  const total = noCounts()
  const files: object[] = []
  const account = flags.from === undefined ? undefined : new CosmosAccount(flags.from)
  const inputs = paths.map(path => () => importInput(fileInput(path, format), plan))
  if (account !== undefined) inputs.push(() => importInput(accountInput(account, sourceName(flags)), plan))
  for (const [at, run] of inputs.entries()) {
    const { counts, refusedFile } = await run()
    const path = paths[at] ?? `${sourceName(flags).database}/${sourceName(flags).container}`
    addCounts(total, counts)
    files.push({ file: path, ...counts, ...(counts.refused > 0 && { refusedFile }) })
    if (flags.json !== true) process.stdout.write(`${path}: ${countsText(counts, refusedFile)}\n`)
    if (plan.signal.aborted) break
  }
  if (flags.json === true) process.stdout.write(`${JSON.stringify({ ...total, files })}\n`)
  else if (paths.length > 1) process.stdout.write(`all: ${countsText(total, undefined)}\n`)
  if (plan.signal.aborted) process.exitCode = interruptedExitCode
  else if (total.refused > 0) process.exitCode = refusedExitCode
}

interface SourceName {
  readonly database: string
  readonly container: string
}

/** The container of the other account: of the same name, if no other is given. */
function sourceName({ database, container, fromDatabase, fromContainer }: ImportFlags): SourceName {
  return { database: fromDatabase ?? database, container: fromContainer ?? container }
}

async function openContainer(connection: ServerConnection, flags: ImportFlags): Promise<RemoteContainer> {
  const { database, container, partitionKey, ttl } = flags
  const api = flags.api === undefined ? undefined : choice(flags.api, ['nosql', 'mongo'], '--api')
  const create = api ?? (partitionKey === undefined ? undefined : 'nosql')
  const defaultTtl = ttl === undefined ? undefined : (parseTtl(ttl) ?? undefined)
  let found: RemoteContainer
  try {
    found = await connection.call<RemoteContainer>('POST', `import/${pathOf(database, container)}`, {
      query: { create, partitionKey, defaultTtl },
    })
  } catch (error) {
    if (!(error instanceof Refused) || error.status !== 404 || create !== undefined) throw error
    throw new RequestError(
      'not_found',
      `There is no container ${database}/${container}. To create it, name its partition key ` +
        '(--partition-key /pk), or say --api mongo.',
      { cause: error },
    )
  }
  const wanted = partitionKey?.split(/,(?=\/)/).map(path => path.trim())
  if (found.api === 'nosql' && wanted !== undefined && wanted.join() !== found.partitionKey.join()) {
    const present = found.partitionKey.join()
    throw new RequestError(
      'malformed',
      `The partition key of ${database}/${container} is ${present}, not ${partitionKey}.`,
    )
  }
  return found
}

/** The first interrupt stops after the batch that is under way, the second one at once. */
function stopSignal(): AbortSignal {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(interruptedExitCode)
    controller.abort()
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return controller.signal
}

interface FileResult {
  /** Of the whole import, also of the part before an interruption. */
  readonly counts: ImportCounts
  readonly refusedFile: string
}

/** What is imported: a file, or a container of another account. */
interface ImportInput<Place extends { readonly rows: number }> {
  readonly name: string
  /** Changes when the input does. Undefined: it can be read only once. */
  readonly fingerprint: string | undefined
  /** The checkpoint and the refused rows lie beside it. */
  readonly path: string
  batches(after: Place | undefined): AsyncIterable<ImportBatch<Place>>
  /** How much of it was read, from 0 to 1, if anybody knows. */
  share(place: Place): number | undefined
  placeText(place: Place): string
}

function fileInput(path: string, format: InputFormat | undefined): ImportInput<InputPlace> {
  const file = inputFile(path)
  let start = 0
  let bytesRead = 0
  return {
    name: path,
    fingerprint: file.fingerprint,
    path,
    batches: after => {
      start = after?.compression === 'none' ? after.offset : 0
      return readRows(file, { format, after, onBytes: bytes => (bytesRead = bytes) })
    },
    share: () => (file.size === undefined ? undefined : Math.min(1, (start + bytesRead) / Math.max(1, file.size))),
    placeText: ({ rows, line }) => `row ${rows}, at line ${line}`,
  }
}

function accountInput(account: CosmosAccount, { database, container }: SourceName): ImportInput<CosmosPlace> {
  return {
    name: `${database}/${container}`,
    fingerprint: `${database}/${container}`,
    path: `${database}.${container}.from`.replaceAll(/[^\w.-]/g, '_'),
    batches: after => account.batches(database, container, after),
    share: () => undefined,
    placeText: ({ rows }) => `item ${rows}`,
  }
}

async function importInput<Place extends { readonly rows: number }>(
  input: ImportInput<Place>,
  plan: Plan,
): Promise<FileResult> {
  const { connection, flags, mode, keepTtl, format, container, bar, signal } = plan
  const { database, container: name } = flags
  const { path, fingerprint } = input
  const checkpoint = new Checkpoint<Place>(besideInput(path, '.import.json', flags.state))
  const identity = {
    file: fingerprint ?? '',
    target: `${database}/${name} ${container.incarnation}`,
    options: `${mode} ${keepTtl} ${format ?? 'any format'}`,
  }
  if (flags.restart === true) checkpoint.remove()
  const canResume = fingerprint !== undefined
  const before = canResume ? checkpoint.read(identity) : undefined
  if (before !== undefined) process.stderr.write(`${input.name}: going on behind ${input.placeText(before.place)}.\n`)
  const refused = new RefusedRows(besideInput(path, '.refused.jsonl', flags.state), before?.refusedBytes ?? 0)
  const job = before?.job ?? randomUUID()
  const target = new RemoteTarget(connection, { database, container: name, mode, keepTtl, job })
  const counts = { ...(before?.counts ?? noCounts()) }
  let place = before?.place
  const state = (): ImportState<Place> => ({ job, identity, place: place!, counts, refusedBytes: refused.bytes })
  const where = () => (place === undefined ? 'before the first row' : `behind ${input.placeText(place)}`)
  try {
    const { isComplete } = await importRows(input.batches(place), target, {
      signal,
      onBatch: (result, batch) => {
        addCounts(counts, result.counts)
        refused.add(result.refused, batch.rows)
        place = batch.end
        if (canResume) checkpoint.write(state())
        const share = input.share(place)
        bar.show({ phase: 'importing', subject: input.name, done: place.rows, unit: 'rows', share })
      },
    })
    bar.clear()
    if (isComplete) checkpoint.remove()
    else process.stderr.write(`${input.name}: stopped ${where()}. ${howToGoOn(canResume)}\n`)
  } catch (error) {
    bar.clear()
    if (error instanceof InputError) checkpoint.remove()
    throw failure(error, { name: input.name, rows: place?.rows ?? 0, where: where(), canResume })
  } finally {
    refused.close()
  }
  return { counts, refusedFile: refused.path }
}

interface StoppedAt {
  readonly name: string
  readonly rows: number
  readonly where: string
  readonly canResume: boolean
}

/** What happened, what was done before, and what to do now. */
function failure(error: unknown, { name, rows, where, canResume }: StoppedAt): unknown {
  if (error instanceof InputError) {
    const done = `${rows} rows before it were imported; nothing behind it was.`
    return new RequestError('malformed', `${name}: ${error.message} ${done}`, { cause: error })
  }
  if (!(error instanceof RequestError)) return error
  const isForgotten = error instanceof Refused && error.status === 410
  const advice = isForgotten
    ? 'To begin anew, add --restart; with --mode skip, what is there stays.'
    : howToGoOn(canResume)
  return new RequestError(error.kind, `${error.message} The import stopped ${where}. ${advice}`, {
    cause: error,
  })
}

function howToGoOn(canResume: boolean): string {
  return canResume
    ? 'The same command goes on there.'
    : 'Standard input cannot be read again: give the same input with --mode skip.'
}

function countsText(counts: ImportCounts, refusedFile: string | undefined): string {
  const { created, replaced, skipped, dead, refused } = counts
  const parts = [
    `${created} created`,
    ...(replaced > 0 ? [`${replaced} replaced`] : []),
    ...(skipped > 0 ? [`${skipped} skipped, because they were there`] : []),
    ...(dead > 0 ? [`${dead} not imported, because they were dead already`] : []),
    ...(refused > 0 ? [`${refused} refused${refusedFile === undefined ? '' : `: see ${refusedFile}`}`] : []),
  ]
  return `${parts.join(', ')}.`
}
