/**
 * Throws many inputs at one parser. An input may be accepted or refused. Nothing else may happen: no error
 * that is not one of ours, no broken round trip, no input that takes long.
 *
 * An input is made from the seed and its number alone, so any of them can be made again.
 */

import { inspect } from 'node:util'
import { machine } from '../../src/base/clock.ts'
import { MayflyError } from '../../src/base/error.ts'
import { HoldWatch, WorkTooLong, type WorkWatch, watched } from '../../src/base/work.ts'
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

/** As the server's own thread holds it at most, about. */
const holdMsMax = 5

/** A second look at an input that took long: the machine may have been busy. */
const looksAgain = 20

/** Ends work by its steps, so that the result does not depend on the machine. */
class StepWatch implements WorkWatch {
  #looks = 0

  /** A look comes after about 500 steps. */
  look(): void {
    this.#looks++
    if (this.#looks > 100) throw new WorkTooLong()
  }
}

export async function fuzz(name: string, target: Target, options: FuzzOptions): Promise<Fuzzed> {
  const { seed, from = 0, inputs, msMax } = options
  const makeWatch = () => (msMax === undefined ? new StepWatch() : new HoldWatch(holdMsMax))
  const counts = { accepted: 0, refused: 0, cut: 0, slowestMs: 0 }
  for (let at = from; at < from + inputs; at++) {
    const input = target.make(new Random(seed, at))
    const fails = (what: string) => new Error(`${name}, --seed ${seed} --from ${at}: ${what}. ${shown(input)}`)
    let { outcome, ms } = await tryOut(target, input, makeWatch())
    if (outcome instanceof Error) throw fails(inspect(outcome))
    counts[outcome]++
    if (msMax === undefined) continue
    for (let look = 0; ms > msMax && look < looksAgain; look++) {
      ms = Math.min(ms, (await tryOut(target, input, makeWatch())).ms)
    }
    if (ms > msMax) throw fails(`it took ${Math.round(ms)} ms`)
    counts.slowestMs = Math.max(counts.slowestMs, ms)
  }
  return counts
}

type Outcome = 'accepted' | 'refused' | 'cut' | Error

/**
 * What comes of an input, and for how long nobody else had a turn. Work in slices may take longer in all.
 */
async function tryOut(target: Target, input: unknown, watch: WorkWatch): Promise<{ outcome: Outcome; ms: number }> {
  const startMs = machine.monotonicMs()
  let outcome: Outcome | undefined
  try {
    const running = watched(watch, () => target.run(input))
    if (!(running instanceof Promise)) outcome = 'accepted'
    else {
      running.then(
        () => {
          outcome = 'accepted'
        },
        error => {
          outcome = outcomeOf(error)
        },
      )
    }
  } catch (error) {
    outcome = outcomeOf(error)
  }
  let beganMs = startMs
  let ms = 0
  for (;;) {
    if (outcome === undefined) await new Promise<void>(resolve => machine.setImmediate(resolve))
    const nowMs = machine.monotonicMs()
    ms = Math.max(ms, nowMs - beganMs)
    if (outcome !== undefined) return { outcome, ms }
    beganMs = nowMs
  }
}

function outcomeOf(error: unknown): Outcome {
  if (error instanceof WorkTooLong) return 'cut'
  return isRefusal(error) ? 'refused' : (error as Error)
}

function isRefusal(error: unknown): boolean {
  if (error instanceof FramingError) return true
  return error instanceof MayflyError && error.kind !== 'internal' && error.message.length < 100_000
}

function shown(input: unknown): string {
  const text = Buffer.isBuffer(input) ? `base64 ${input.toString('base64')}` : inspect(input, { depth: 12 })
  return text.slice(0, 3000)
}
