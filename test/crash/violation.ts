/** A promise that was found broken; everything else that is thrown is a fault of the test itself. */

export class Violation extends Error {
  override readonly name = 'Violation'
}

export function check(holds: boolean, sentence: string): asserts holds {
  if (!holds) throw new Violation(sentence)
}
