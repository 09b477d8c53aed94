/** All hostile works of both APIs. Tests use them, too. */

import type { HostileWork } from './hostile-work.ts'
import { mongoWorks } from './mongo-works.ts'
import { nosqlWorks } from './nosql-works.ts'

export const works: readonly HostileWork[] = [...nosqlWorks, ...mongoWorks]
