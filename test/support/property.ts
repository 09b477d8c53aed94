/**
 * fast-check, as every property test imports it. A failure prints its seed and path; `MAYFLY_SEED` and
 * `MAYFLY_PATH` run that case again.
 */

import fc from 'fast-check'

const { MAYFLY_SEED, MAYFLY_PATH } = process.env

fc.configureGlobal({
  ...(MAYFLY_SEED !== undefined && { seed: Number(MAYFLY_SEED) }),
  ...(MAYFLY_PATH !== undefined && { path: MAYFLY_PATH }),
})

/** Only one case is run again: it need not meet all that the cases of a test have to meet together. */
export const isReplay = MAYFLY_PATH !== undefined

export { fc }
