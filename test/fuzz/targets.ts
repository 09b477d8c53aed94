/** All parsers that read what comes from outside. */

import type { Target } from './fuzz.ts'
import { mongoTargets } from './mongo-targets.ts'
import { nosqlTargets } from './nosql-targets.ts'
import { otherTargets } from './other-targets.ts'

export const targets: Readonly<Record<string, Target>> = { ...nosqlTargets, ...mongoTargets, ...otherTargets }
