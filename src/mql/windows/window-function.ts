/** The interface of window functions: how one is written, and how it runs over a partition. */

import type { Steps } from '../../base/steps.ts'
import type { Value } from '../../document/bson/value.ts'
import type { Compiler, Evaluate } from '../expressions/core/scope.ts'
import type { Sort } from '../paths/sort-order.ts'
import { type WindowBounds, windowsInSteps } from './bounds.ts'
import type { MovingState } from './moving-sum.ts'
import { Inputs, type WindowPartition } from './partition.ts'

/** `{ $sum: "$price", window: { … } }` within `output`. */
export interface WindowSpec {
  readonly name: string
  readonly argument: Value
  /** Undefined without a `window`. */
  readonly window: Value | undefined
  /** The `sortBy` of the stage. */
  readonly sort: Sort | undefined
  readonly compiler: Compiler
}

/** Computes the value for each document of a partition. The documents must be asked for in their order. */
export type WindowRun = (index: number) => Value

export interface WindowFunction {
  /** Prepares the run. Work that takes long is done here, in steps. */
  begin(partition: WindowPartition): Steps<WindowRun>
}

/** A function whose state changes with the values that enter and leave its window. */
export function movingFunction(
  bounds: WindowBounds,
  input: Evaluate,
  makeState: (mayLeave: boolean) => MovingState,
): WindowFunction {
  const mayLeave = bounds.lower !== 'unbounded'
  return {
    *begin(partition) {
      const windowOf = yield* windowsInSteps(bounds, partition)
      const inputs = new Inputs(partition, input)
      const state = makeState(mayLeave)
      let entered = 0
      let left = 0
      const enter = () => {
        state.enter(inputs.at(entered), entered)
        if (!mayLeave && state.holdsValues !== true) inputs.release(entered)
        entered += 1
      }
      // The first window may be wide. Each later one has few documents more.
      for (const { last } = windowOf(0); entered <= last; ) {
        enter()
        if (entered % 100 === 0) yield
      }
      return index => {
        const { first, last } = windowOf(index)
        while (entered <= last) enter()
        for (; left < first && left < entered; left += 1) {
          state.leave(inputs.at(left), left)
          inputs.release(left)
        }
        return state.result()
      }
    },
  }
}
