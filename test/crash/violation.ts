/** A broken promise of the server. Every other error is a fault of the test itself. */

export class Violation extends Error {
  override readonly name = 'Violation'
}

export function check(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new Violation(sentence)
}
