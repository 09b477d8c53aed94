/** What a run of a query has besides the rows: parameters, the moment, the host's hooks, and budgets. */

import { machine } from '../../base/clock.ts'
import { CapacityError, RequestError } from '../../base/error.ts'
import { queryMemoryBytesMax, queryStepsMax } from '../../base/limits.ts'
import { heldHere } from '../../base/memory-account.ts'
import { spend } from '../../base/work.ts'
import { approximateBytes, type SqlValue } from './value.ts'

/** Rows that one item may become through JOINs. Three arrays of 100 make a million; more is a mistake. */
export const queryJoinRowsMax = 1_000_000

/** Rows of subqueries for one item, for the same reason: correlated subqueries multiply like JOINs. */
const querySubqueryRowsMax = 5_000_000

/** Groups of a GROUP BY; each holds its accumulators. */
export const queryGroupsMax = 100_000

/**
 * Time that the functions of a query may take for one item. It limits work that no other limit covers. The
 * service limits the whole page instead.
 */
const queryItemMsMax = 5000

/** Compiled regular expressions cached during one run; patterns that come from data could be unlimited. */
const queryPatternsMax = 64

/** Bytes that a value takes in the heap for each byte of its JSON, as measured with 64 groupings at once. */
const heldFactor = 4

export interface RunOptions {
  /** By name including the @, as in the request: `@id`. */
  readonly parameters?: ReadonlyMap<string, SqlValue>
  /** Milliseconds since 1970, returned by GETCURRENTTIMESTAMP. One moment for the whole run. */
  readonly momentMs: number
  /** The source of RAND's numbers: at least 0 and below 1. */
  readonly random?: () => number
  /** Calls `udf.name(…)`. Without it, user-defined functions are refused. */
  readonly callUserDefined?: (name: string, values: readonly SqlValue[]) => SqlValue
}

export class RunContext {
  readonly parameters: ReadonlyMap<string, SqlValue>
  readonly momentMs: number
  readonly random: () => number
  readonly callUserDefined: (name: string, values: readonly SqlValue[]) => SqlValue
  readonly budget = new RunBudget()
  readonly #patterns = new Map<string, unknown>()

  constructor(options: RunOptions) {
    this.parameters = options.parameters ?? new Map()
    this.momentMs = options.momentMs
    this.random = options.random ?? Math.random
    this.callUserDefined = options.callUserDefined ?? refuseUserDefined
  }

  /** Caches values that are costly to make and mostly the same for every row, such as compiled patterns. */
  cached<T>(key: string, make: () => T): T {
    const known = this.#patterns.get(key)
    if (known !== undefined) return known as T
    const made = make()
    if (this.#patterns.size >= queryPatternsMax) this.#patterns.clear()
    this.#patterns.set(key, made)
    return made
  }
}

function refuseUserDefined(name: string): SqlValue {
  throw new RequestError('unsupported', `User-defined functions are not supported: udf.${name}.`)
}

/** The row under evaluation: one slot per alias, aggregate and group key of the whole query. */
export interface Frame {
  readonly values: SqlValue[]
  readonly context: RunContext
}

/**
 * Bounds the cost of one query. Rows are counted per item, memory for the whole run. What is counted here
 * also counts as work (`base/work.ts`). So a query ends when nobody waits for its result any more.
 */
export class RunBudget {
  #joinRows = 0
  #subqueryRows = 0
  #steps = 0
  #calls = 0
  #startMs: number | undefined
  #memoryBytes = 0
  /** The memory lease of the request, or of its part in the query thread. */
  readonly #lease = heldHere()

  startItem(): void {
    this.#joinRows = 0
    this.#subqueryRows = 0
    this.#steps = 0
    this.#startMs = undefined
    spend(1)
  }

  /** Called for each function call: one may take long on a large value, and there can be thousands. */
  chargeCall(): void {
    spend(1)
    this.#calls += 1
    if (this.#calls % 32 === 0) this.checkTime()
  }

  checkTime(): void {
    this.#startMs ??= machine.monotonicMs()
    if (machine.monotonicMs() - this.#startMs > queryItemMsMax) {
      const sentence = `The query works for more than ${queryItemMsMax} milliseconds on one item.`
      throw new CapacityError('timed_out', sentence, 0)
    }
  }

  /** Work that is neither rows nor linear in the size of a value. */
  chargeSteps(steps: number): void {
    spend(steps)
    this.#steps += steps
    if (this.#steps > queryStepsMax) throw over(`The query takes more than ${queryStepsMax} steps for one item.`)
  }

  chargeJoinRow(): void {
    spend(1)
    this.#joinRows += 1
    if (this.#joinRows > queryJoinRowsMax) {
      throw over(`The JOINs of the query make more than ${queryJoinRowsMax} rows of one item.`)
    }
  }

  chargeSubqueryRow(): void {
    spend(1)
    this.#subqueryRows += 1
    if (this.#subqueryRows > querySubqueryRowsMax) {
      throw over(`The subqueries of the query make more than ${querySubqueryRowsMax} rows of one item.`)
    }
  }

  chargeGroup(groups: number): void {
    if (groups > queryGroupsMax) throw over(`The query has more than ${queryGroupsMax} groups.`)
  }

  chargeMemory(bytes: number): void {
    this.#memoryBytes += bytes
    if (bytes > 0) this.#lease?.add(heldFactor * bytes)
    else this.#lease?.release(heldFactor * -bytes)
    if (this.#memoryBytes > queryMemoryBytesMax) {
      throw over(
        `Sorting, grouping or removing duplicates needs more than ${queryMemoryBytesMax} bytes of memory. ` +
          'Narrow the filter, select less, or ask for fewer rows with TOP or LIMIT.',
      )
    }
  }
}

/** The memory of one select. A subquery releases its memory before the next item. */
export class SelectMemory {
  readonly #budget: RunBudget
  #bytes = 0

  constructor(budget: RunBudget) {
    this.#budget = budget
  }

  charge(bytes: number): void {
    this.#bytes += bytes
    this.#budget.chargeMemory(bytes)
  }

  /** Returns the number of bytes, for callers that release the value before the lease ends. */
  chargeValue(value: SqlValue): number {
    const bytes = approximateBytes(value, queryMemoryBytesMax) + 64
    this.charge(bytes)
    return bytes
  }

  release(bytes: number): void {
    this.charge(-bytes)
  }

  end(): void {
    this.release(this.#bytes)
  }
}

function over(message: string): RequestError {
  return new RequestError('malformed', message)
}
