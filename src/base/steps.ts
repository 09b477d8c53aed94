/** Long work as steps: a generator that yields whenever others may have a turn, and returns the result. */

export type Steps<T> = Generator<undefined, T>

/** Does all of it now. */
export function withoutTurns<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next()
    if (step.done === true) return step.value
  }
}

/** About a millisecond of comparisons. */
const stepItems = 2000

/** Sorts like `toSorted`: items that are equal keep their order. */
export function* sortInSteps<T>(items: readonly T[], compare: (left: T, right: T) => number): Steps<T[]> {
  let runs: T[][] = []
  for (let at = 0; at < items.length; at += stepItems) {
    runs.push(items.slice(at, at + stepItems).sort(compare))
    yield
  }
  while (runs.length > 1) {
    const merged: T[][] = []
    for (let at = 0; at < runs.length; at += 2) {
      const [left, right] = [runs[at]!, runs[at + 1]]
      merged.push(right === undefined ? left : yield* mergeInSteps(left, right, compare))
    }
    runs = merged
  }
  return runs[0] ?? []
}

function* mergeInSteps<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): Steps<T[]> {
  const merged: T[] = []
  let [atLeft, atRight] = [0, 0]
  while (atLeft < left.length && atRight < right.length) {
    const isLeft = compare(left[atLeft]!, right[atRight]!) <= 0
    merged.push(isLeft ? left[atLeft++]! : right[atRight++]!)
    if (merged.length % stepItems === 0) yield
  }
  for (; atLeft < left.length; atLeft++) merged.push(left[atLeft]!)
  for (; atRight < right.length; atRight++) merged.push(right[atRight]!)
  return merged
}
