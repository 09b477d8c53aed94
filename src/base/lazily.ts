/**
 * Functions whose code is loaded with their first call. So code that an idle server does not need takes no
 * memory (docs/decisions/0021). Later calls go straight to the function.
 */

import type { MaybePromise } from './maybe-promise.ts'

export function lazily<Module, Arguments extends unknown[], Result>(
  load: () => Promise<Module>,
  pick: (module: Module) => (...given: Arguments) => MaybePromise<Result>,
): (...given: Arguments) => MaybePromise<Result> {
  let loaded: ((...given: Arguments) => MaybePromise<Result>) | undefined
  return (...given) => {
    if (loaded !== undefined) return loaded(...given)
    return load().then(module => {
      loaded = pick(module)
      return loaded(...given)
    })
  }
}
