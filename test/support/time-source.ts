/** The times of a machine that a test moves: wall clock, monotonic time and uptime. */

import type { TimeSource } from '../../src/base/clock.ts'

export class TestTime implements TimeSource {
  wallMs: number
  #elapsedMs = 0
  #sleptMs = 0

  constructor(wallSeconds: number) {
    this.wallMs = wallSeconds * 1000
  }

  readonly epochMs = (): number => this.wallMs
  readonly monotonicMs = (): number => this.#elapsedMs
  readonly uptimeMs = (): number => 5000 + this.#elapsedMs + this.#sleptMs

  /** Time goes by, and all clocks with it. */
  pass(seconds: number): void {
    this.wallMs += seconds * 1000
    this.#elapsedMs += seconds * 1000
  }

  /** Somebody sets the wall clock. */
  step(seconds: number): void {
    this.wallMs += seconds * 1000
  }

  /** The machine sleeps: monotonic time stands still. */
  sleep(seconds: number): void {
    this.wallMs += seconds * 1000
    this.#sleptMs += seconds * 1000
  }
}
