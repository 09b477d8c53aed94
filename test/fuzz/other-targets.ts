/** What people write: key files, host names, durations, addresses of stores. */

import { wellKnownKey } from '../../src/base/account-keys.ts'
import { parseDuration } from '../../src/base/duration.ts'
import { RequestError } from '../../src/base/error.ts'
import { parseConfig, parseKeyFile, settings } from '../../src/server/config.ts'
import type { Target } from './fuzz.ts'
import { mutateText } from './mutate.ts'

const keyFiles = [`${wellKnownKey}\n`, `# keys\n${wellKnownKey}\n\n${wellKnownKey} read-only\r\n`]
const words = [
  '90d',
  '5m',
  '1h',
  '24h',
  'localhost,mayfly.local',
  '*',
  '[::1]',
  'postgres://u:p@h:5432/db',
  '0',
  '8081',
]

const names = ['port', 'allowedHosts', 'store', 'maxClockStep', 'memoryBudget', 'key', 'partitions'] as const

/** Each flag that takes a text gets it. Refused if all refuse it. */
function flags(text: string): void {
  const readers = [() => parseDuration(text), ...names.map(name => () => parseConfig(settings({ [name]: text }, {})))]
  const refusals = readers.flatMap(read => {
    try {
      read()
      return []
    } catch (error) {
      if (!(error instanceof RequestError)) throw error
      return [error]
    }
  })
  if (refusals.length === readers.length) throw refusals[0]
}

const keyFile: Target<string> = {
  make: random => mutateText(random.pick(keyFiles), keyFiles, random),
  run: text => parseKeyFile('keys', text),
}

export const otherTargets: Readonly<Record<string, Target>> = {
  'key-file': keyFile,
  flags: { make: random => mutateText(random.pick(words), words, random), run: flags },
}
