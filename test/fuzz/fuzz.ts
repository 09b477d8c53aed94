/**
 * Throws many inputs at one parser. An input may be accepted or refused; nothing else may happen: no error that
 * is not one of ours, no broken round trip, no input that takes long.
 *
 * An input is made from the seed and its number alone, so any of them can be made again.
 */

import assert from 'node:assert/strict'
import { inspect } from 'node:util'
import { machine } from '../../src/base/clock.ts'
import { MayflyError } from '../../src/base/error.ts'
import { WorkTooLong, type WorkWatch, watched } from '../../src/base/work.ts'
import { FramingError } from '../../src/mongo/wire/frame.ts'
import { Random } from '../crash/random.ts'

export interface Target<Input = unknown> {
  make(random: Random): Input
  /** Throws what the parser throws; an AssertionError if the parser broke its word. */
  run(input: Input): unknown
}

export interface Fuzzed {
  readonly accepted: number
  readonly refused: number
  /** Work that was cut, as the server would do it, to be done elsewhere. */
  readonly cut: number
  readonly slowestMs: number
}

export interface FuzzOptions {
  readonly seed: number
  readonly from?: number
  readonly inputs: number
  /** undefined: nothing is measured. */
  readonly msMax?: number
}

/** A second look at an input that took long: the machine may have been busy. */
const looksAgain = 20

/** Ends work by its steps, so that the result does not depend on the machine. */
class StepWatch implements WorkWatch {
  #looks = 0

  turn(): void {
    this.#looks = 0
  }

  /** A look comes after about 500 steps. */
  look(): void {
    this.#looks++
    if (this.#looks > 100) throw new WorkTooLong()
  }
}

export async function fuzz(name: string, target: Target, options: FuzzOptions): Promise<Fuzzed> {
  const { seed, from = 0, inputs, msMax } = options
  const counts = { accepted: 0, refused: 0, cut: 0, slowestMs: 0 }
  for (let at = from; at < from + inputs; at++) {
    const input = target.make(new Random(seed, at))
    const tell = (what: string) => `${name}, --seed ${seed} --from ${at}: ${what}. ${shown(input)}`
    let ms = await timed(target, input, counts, tell)
    if (msMax === undefined) continue
    for (let look = 0; ms > msMax && look < looksAgain; look++) {
      ms = Math.min(ms, await timed(target, input, { ...counts }, tell))
    }
    assert.ok(ms <= msMax, tell(`it took ${Math.round(ms)} ms`))
    counts.slowestMs = Math.max(counts.slowestMs, ms)
  }
  return counts
}

type Counts = { -readonly [Name in keyof Fuzzed]: Fuzzed[Name] }

async function timed(target: Target, input: unknown, counts: Counts, tell: (what: string) => string): Promise<number> {
  const startMs = machine.monotonicMs()
  try {
    const running = watched(new StepWatch(), () => target.run(input))
    const holdMs = running instanceof Promise ? await longestHoldMs(running, startMs) : undefined
    counts.accepted++
    if (holdMs !== undefined) return holdMs
  } catch (error) {
    if (error instanceof WorkTooLong) counts.cut++
    else if (isRefusal(error)) counts.refused++
    else throw new Error(tell(inspect(error)), { cause: error })
  }
  return machine.monotonicMs() - startMs
}

/** Work in slices may take long in all: what counts is for how long others had no turn. */
async function longestHoldMs(running: Promise<unknown>, startMs: number): Promise<number> {
  let longest = 0
  let beganMs = startMs
  let isOver = false
  const end = running.finally(() => {
    isOver = true
  })
  end.catch(() => {})
  while (!isOver) {
    await new Promise<void>(resolve => machine.setImmediate(resolve))
    const nowMs = machine.monotonicMs()
    longest = Math.max(longest, nowMs - beganMs)
    beganMs = nowMs
  }
  await end
  return longest
}

function isRefusal(error: unknown): boolean {
  if (error instanceof FramingError) return true
  return error instanceof MayflyError && error.kind !== 'internal' && error.message.length < 100_000
}

function shown(input: unknown): string {
  const text = Buffer.isBuffer(input) ? `base64 ${input.toString('base64')}` : inspect(input, { depth: 12 })
  return text.slice(0, 3000)
}
