/** The server's side of a pipeline that a thread holds: gives it documents, and takes its results. */

import { BsonDocument } from '../../document/bson/value.ts'
import { expressionTest } from '../../mql/expressions/expression.ts'
import type { PipelineSpec } from '../../mql/pipeline/pipeline.ts'
import { commandScope } from '../../mql/pipeline/pipeline.ts'
import { packDocuments, unpackDocuments } from '../../mql/pipeline/row-marks.ts'
import { hostedStatement } from '../../mql/prepare.ts'
import type { Collections, DocumentBatch, Stream } from '../../mql/stages/stage.ts'
import type { HostedFind, StreamHost, StreamNumber } from '../../query/hosted-stream.ts'
import type { PackedRows } from '../../query/packed-rows.ts'
import type { Appetite } from '../find/document-stream.ts'
import type { CommandCall } from '../service/command.ts'

export interface HostedRun {
  readonly spec: PipelineSpec
  readonly passed: number
  readonly input: Stream
  readonly collections: Collections
  /** Says who waits for results now. */
  readonly appetite: Appetite
}

/** The results of a pipeline in another thread, and how to end it. Begins when the first are asked for. */
export function hostedResults(call: CommandCall, run: HostedRun): { results: Stream; end: () => void } {
  const over = new AbortController()
  return { results: resultsOf(call, run, over), end: () => over.abort(new Error('nobody wants more')) }
}

async function* resultsOf(call: CommandCall, run: HostedRun, over: AbortController): AsyncGenerator<DocumentBatch> {
  const { appetite } = run
  const host = new Host(run)
  const end = call.service.engine
    .holdPipeline({ statement: hostedStatement(run.spec), passed: run.passed }, host, over.signal)
    .then(
      () => host.endOf(undefined),
      error => host.endOf(error),
    )
  try {
    for (;;) {
      const results = await untilAborted(host.taken(), appetite.by.operation.signal)
      if (results === undefined) break
      yield unpackDocuments(results)
    }
    await end
  } catch (error) {
    over.abort(error)
    throw error
  } finally {
    over.abort(new Error('nobody wants more'))
    await host.closeAll()
  }
}

/** Rejects with the signal's reason as soon as that is aborted. */
async function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason)
  signal.addEventListener('abort', abort)
  try {
    return await Promise.race([work, promise])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Returns documents batch by batch, and lets the thread continue when more are asked for. */
class Host implements StreamHost {
  readonly #run: HostedRun
  readonly #streams = new Map<StreamNumber, AsyncIterator<DocumentBatch>>()
  #opened = 0
  #ended: { readonly error: unknown } | undefined
  /** Results that were not taken yet, and the function that tells the thread when they are. */
  #given: { readonly results: PackedRows; readonly take: () => void } | undefined
  #letGo: (() => void) | undefined
  #wake: (() => void) | undefined

  constructor(run: HostedRun) {
    this.#run = run
    this.#streams.set(0, run.input[Symbol.asyncIterator]())
  }

  open({ namespace, filter, sort, skip, limit }: HostedFind): StreamNumber {
    const { spec, collections } = this.#run
    const { constants } = spec.options
    const variables = { constants, let: undefined }
    const found = collections.find(namespace, {
      filter: BsonDocument.view(filter),
      sort: sort && BsonDocument.view(sort),
      ...{ skip, limit, variables, collation: constants.collation },
      expression: expressionTest(commandScope(variables)),
    })
    const number = ++this.#opened
    this.#streams.set(number, found[Symbol.asyncIterator]())
    return number
  }

  async next(stream: StreamNumber): Promise<PackedRows | undefined> {
    for (;;) {
      const next = await this.#streams.get(stream)?.next()
      if (next === undefined || next.done === true) return undefined
      const packed = packDocuments(next.value)
      if (packed !== undefined) return packed
    }
  }

  async close(stream: StreamNumber): Promise<void> {
    const iterator = this.#streams.get(stream)
    this.#streams.delete(stream)
    await iterator?.return?.()
  }

  give(results: PackedRows): Promise<void> {
    return new Promise(resolve => {
      this.#given = { results, take: resolve }
      this.#wake?.()
    })
  }

  endOf(error: unknown): void {
    this.#ended = { error }
    this.#wake?.()
  }

  /** The next results. Undefined: there are no more. */
  async taken(): Promise<PackedRows | undefined> {
    this.#letGo?.()
    this.#letGo = undefined
    if (this.#given === undefined && this.#ended === undefined) {
      await new Promise<void>(resolve => {
        this.#wake = resolve
      })
    }
    if (this.#given !== undefined) {
      const { results, take } = this.#given
      this.#given = undefined
      // The thread goes on when more is asked for.
      this.#letGo = take
      return results
    }
    if (this.#ended?.error !== undefined) throw this.#ended.error
    return undefined
  }

  async closeAll(): Promise<void> {
    for (const number of [...this.#streams.keys()]) await this.close(number)
  }
}
