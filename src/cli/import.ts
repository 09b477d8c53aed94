/**
 * mayfly import: reads files into a container of a running server, shows its progress, and continues after
 * an interruption.
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
import { CosmosAccount, type CosmosPlace, type SourceContainer, type SourceName } from './cosmos-source.ts'
import { besideInput, inputFile } from './input-file.ts'
import { interruptedExitCode } from './interrupt.ts'
import { ProgressBar } from './progress.ts'
import { RefusedRows } from './refused-rows.ts'
import { type RemoteContainer, RemoteTarget } from './remote-target.ts'
import { SentPages } from './sent-pages.ts'
import { type ConnectionFlags, pathOf, Refused, ServerConnection } from './server-connection.ts'
import { ttlText } from './table.ts'
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

/** The exit code of an import of which some rows were refused. */
const refusedExitCode = 2

interface Plan {
  readonly connection: ServerConnection
  readonly flags: ImportFlags
  readonly mode: ImportMode
  readonly keepTtl: KeepTtl
  readonly format: InputFormat | undefined
  /** The names of all files of the command. */
  readonly inputs: string
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
  if (flags.from === undefined && (flags.fromDatabase ?? flags.fromContainer) !== undefined) {
    throw new RequestError('malformed', '--from-database and --from-container need --from, which names the account.')
  }
  for (const path of paths) inputFile(path)
  const connection = new ServerConnection(flags)
  const source = flags.from === undefined ? undefined : await new CosmosAccount(flags.from).open(sourceName(flags))
  const container = await openContainer(connection, flags)
  const bar = new ProgressBar()
  const options = { flags, mode, keepTtl, format, inputs: paths.join('\n') }
  const plan = { ...options, connection, container, bar, signal: stopSignal(bar) }
  const total = noCounts()
  const files: object[] = []
  const done: (() => void)[] = []
  let hasTaken = false
  const inputs = paths.map(path => () => importInput(fileInput(path, plan), plan))
  if (source !== undefined) inputs.push(() => importInput(accountInput(source, plan), plan))
  for (const [at, run] of inputs.entries()) {
    const { counts, refusedFile, forget, ...result } = await run().catch(error => {
      throw withoutRest(error, paths.slice(at + 1))
    })
    done.push(forget)
    hasTaken ||= result.hasTaken === true
    const path = paths[at] ?? `${sourceName(flags).database}/${sourceName(flags).container}`
    addCounts(total, counts)
    files.push({ file: path, ...counts, ...(counts.refused > 0 && { refusedFile }) })
    if (flags.json !== true) process.stdout.write(`${path}: ${countsText(counts, refusedFile)}\n`)
    if (plan.signal.aborted) break
  }
  if (flags.json === true) process.stdout.write(`${JSON.stringify({ ...total, files })}\n`)
  else if (paths.length > 1) process.stdout.write(`all: ${countsText(total, undefined)}\n`)
  if (plan.signal.aborted) {
    process.exitCode = interruptedExitCode
    return
  }
  for (const forget of done) forget()
  if (total.refused > 0) process.exitCode = refusedExitCode
  if (hasTaken) {
    const skip = '--mode skip leaves them, --mode upsert replaces them'
    process.stderr.write(`Rows were refused because their items exist already: ${skip}.\n`)
  }
}

/** Adds to the error of a file that the files after it were not begun. */
function withoutRest(error: unknown, rest: readonly string[]): unknown {
  if (!(error instanceof RequestError) || rest.length === 0) return error
  return new RequestError(error.kind, `${error.message} Not begun: ${rest.join(', ')}.`, { cause: error })
}

/** The container of the other account. By default it has the same name. */
function sourceName({ database, container, fromDatabase, fromContainer }: ImportFlags): SourceName {
  return { database: fromDatabase ?? database, container: fromContainer ?? container }
}

async function openContainer(connection: ServerConnection, flags: ImportFlags): Promise<RemoteContainer> {
  const { database, container, partitionKey, ttl } = flags
  const api = flags.api === undefined ? undefined : choice(flags.api, ['nosql', 'mongo'], '--api')
  if (api === 'mongo' && ttl !== undefined) {
    throw new RequestError('malformed', 'Documents die by a TTL index on _ts, which you create: leave --ttl out.')
  }
  if (partitionKey !== undefined && !partitionKey.startsWith('/')) {
    throw new RequestError('malformed', `--partition-key begins with /: --partition-key /${partitionKey}`)
  }
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
  const differs = differenceOf(found, flags)
  if (differs !== undefined) throw new RequestError('malformed', `${database}/${container} is there, and ${differs}`)
  return found
}

/** How an existing container differs from the flags; undefined: it does not. */
function differenceOf(found: RemoteContainer, { partitionKey, api, ttl }: ImportFlags): string | undefined {
  if (api !== undefined && api !== found.api) {
    const names = { nosql: 'a container of the NoSQL API', mongo: 'a collection of MongoDB' }
    return `is ${names[found.api]}: leave --api out.`
  }
  const wanted = partitionKey?.split(/,(?=\/)/).map(path => path.trim())
  if (found.api === 'nosql' && wanted !== undefined && wanted.join() !== found.partitionKey.join()) {
    return `its partition key is ${found.partitionKey.join()}, not ${partitionKey}.`
  }
  if (ttl !== undefined && parseTtl(ttl) !== found.defaultTtl) {
    return `its default time to live is ${ttlText(found.defaultTtl)}, not ${ttl}: leave --ttl out.`
  }
  return undefined
}

/** The first interrupt stops the import after the running batch, the second one at once. */
function stopSignal(bar: ProgressBar): AbortSignal {
  const controller = new AbortController()
  const stop = () => {
    if (controller.signal.aborted) process.exit(interruptedExitCode)
    controller.abort()
    bar.clear()
    process.stderr.write('Stopping when the next rows are read, or at once if you interrupt again.\n')
  }
  process.on('SIGINT', stop)
  process.on('SIGTERM', stop)
  return controller.signal
}

interface InputResult {
  /** Rows of the whole import, including those before an interruption. */
  readonly counts: ImportCounts
  readonly refusedFile: string
  /** Rows of this run were refused because their items were there. */
  readonly hasTaken?: boolean
  /** Removes the files that a later continuation would need. */
  readonly forget: () => void
}

/** The input of an import: a file, or a container of another account. */
interface ImportInput<Place extends { readonly rows: number }> {
  readonly name: string
  /** Changes when the input does. Undefined: it can be read only once. */
  readonly fingerprint: string | undefined
  /** The checkpoint and the refused rows lie beside it. */
  readonly path: string
  batches(after: Place | undefined, job: string): AsyncIterable<ImportBatch<Place>>
  /** Removes the files that a later continuation would need. */
  forget(): void
  /** The part of the input that was read, from 0 to 1, if that is known. */
  share(place: Place): number | undefined
  placeText(place: Place): string
}

function fileInput(path: string, { format }: Plan): ImportInput<InputPlace> {
  const file = inputFile(path)
  let bytesRead = 0
  return {
    name: path,
    fingerprint: file.fingerprint,
    path,
    batches: after => readRows(file, { format, after, onBytes: bytes => (bytesRead = bytes) }),
    forget: () => {},
    share: ({ compression, offset }) => {
      // The offset of a row is known only in an uncompressed file. In a compressed one, only the bytes read
      // are known, and they are ahead of the rows that were sent.
      const bytes = compression === 'none' ? offset : bytesRead
      return file.size === undefined ? undefined : Math.min(1, bytes / Math.max(1, file.size))
    },
    placeText: ({ rows, line }) => `row ${rows}, at line ${line}`,
  }
}

function accountInput(source: SourceContainer, { flags }: Plan): ImportInput<CosmosPlace> {
  const { database, container } = sourceName(flags)
  const path = `${database}.${container}.from`.replaceAll(/[^\w.-]/g, '_')
  const pages = new SentPages(besideInput(path, '.import', flags.state))
  return {
    name: `${database}/${container}`,
    fingerprint: source.identity,
    path,
    async *batches(after, job) {
      let place = after
      for (;;) {
        const page = pages.read(job, place?.rows ?? 0)
        if (page === undefined) break
        place = page.end
        yield page
      }
      for await (const page of source.batches(place)) {
        pages.write(job, page)
        yield page
      }
    },
    forget: () => pages.remove(),
    share: ({ rows }) => (source.count === undefined ? undefined : Math.min(1, rows / source.count)),
    placeText: ({ rows }) => `item ${rows}`,
  }
}

async function importInput<Place extends { readonly rows: number }>(
  input: ImportInput<Place>,
  plan: Plan,
): Promise<InputResult> {
  const { connection, flags, mode, keepTtl, format, container, bar, signal } = plan
  const { database, container: name } = flags
  const { path, fingerprint } = input
  const checkpoint = new Checkpoint<Place>(besideInput(path, '.import.json', flags.state))
  const identity = {
    file: fingerprint ?? '',
    target: `${database}/${name} ${container.incarnation}`,
    options: `${mode} ${keepTtl} ${format ?? 'any format'}`,
  }
  const forget = () => {
    checkpoint.remove()
    input.forget()
  }
  if (flags.restart === true) forget()
  const canResume = fingerprint !== undefined
  const found = canResume ? checkpoint.read(identity) : undefined
  const isComplete = found?.completeAmong !== undefined
  if (isComplete && found.completeAmong === plan.inputs) {
    process.stderr.write(`${input.name}: was imported before the interruption.\n`)
    return { counts: found.counts, refusedFile: besideInput(path, '.refused.jsonl', flags.state), forget }
  }
  const before = isComplete ? undefined : found
  const refused = new RefusedRows(besideInput(path, '.refused.jsonl', flags.state), before?.refusedBytes ?? 0)
  const job = before?.job ?? randomUUID()
  const target = new RemoteTarget(connection, { database, container: name, mode, keepTtl, job })
  const counts = { ...(before?.counts ?? noCounts()) }
  let place = before?.place
  let hasTaken = false
  if (place !== undefined) process.stderr.write(`${input.name}: continuing after ${input.placeText(place)}.\n`)
  const state = (): ImportState<Place> => ({ job, identity, place, counts, refusedBytes: refused.bytes })
  const where = () => (place === undefined ? 'before the first row' : `after ${input.placeText(place)}`)
  try {
    if (canResume) checkpoint.write(state())
    const { isComplete: isAll } = await importRows(input.batches(place, job), target, {
      signal,
      onBatch: (result, batch) => {
        addCounts(counts, result.counts)
        refused.add(result.refused, batch.rows)
        hasTaken ||= result.refused.some(({ isTaken }) => isTaken)
        place = batch.end
        if (canResume) checkpoint.write(state())
        const share = input.share(place)
        bar.show({ phase: 'importing', subject: input.name, done: place.rows, unit: 'rows', share })
      },
    })
    bar.clear()
    if (isAll) {
      input.forget()
      if (canResume) checkpoint.write({ ...state(), completeAmong: plan.inputs })
    } else process.stderr.write(`${input.name}: stopped ${where()}. ${howToGoOn(canResume)}\n`)
  } catch (error) {
    bar.clear()
    if (error instanceof InputError) forget()
    throw failure(error, { name: input.name, rows: place?.rows ?? 0, where: where(), canResume })
  } finally {
    refused.close()
  }
  return { counts, refusedFile: refused.path, hasTaken, forget }
}

interface StoppedAt {
  readonly name: string
  readonly rows: number
  readonly where: string
  readonly canResume: boolean
}

/** Adds to an error which rows were imported, and what the user can do now. */
function failure(error: unknown, { name, rows, where, canResume }: StoppedAt): unknown {
  if (error instanceof InputError) {
    const done = `${rows} rows before it were imported, and none after it.`
    return new RequestError('malformed', `${name}: ${error.message} ${done}`, { cause: error })
  }
  if (!(error instanceof RequestError)) return error
  const isForgotten = error instanceof Refused && error.status === 410
  const advice = isForgotten
    ? 'To begin again, add --restart. Add --mode skip to keep the items that exist.'
    : howToGoOn(canResume)
  return new RequestError(error.kind, `${error.message} The import stopped ${where}. ${advice}`, {
    cause: error,
  })
}

function howToGoOn(canResume: boolean): string {
  return canResume
    ? 'Run the same command to continue there.'
    : 'Standard input cannot be read again: give the same input with --mode skip.'
}

function countsText(counts: ImportCounts, refusedFile: string | undefined): string {
  const { created, replaced, skipped, dead, refused } = counts
  const parts = [
    `${created} created`,
    ...(replaced > 0 ? [`${replaced} replaced`] : []),
    ...(skipped > 0 ? [`${skipped} skipped, because their items exist`] : []),
    ...(dead > 0 ? [`${dead} not imported, because they were dead already`] : []),
    ...(refused > 0 ? [`${refused} refused${refusedFile === undefined ? '' : `: see ${refusedFile}`}`] : []),
  ]
  return `${parts.join(', ')}.`
}
