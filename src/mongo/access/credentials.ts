/**
 * SCRAM credentials: what is stored of a password. The password itself is not kept.
 *
 * Deriving them takes 10 ms and is done in a thread of Node's pool, so it does not hold up other requests.
 */

import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import { CommandError } from '../answers/command-error.ts'

export const mechanisms = ['SCRAM-SHA-256', 'SCRAM-SHA-1'] as const
export type Mechanism = (typeof mechanisms)[number]

/** The digest of each mechanism, and MongoDB's numbers. Drivers refuse fewer than 4096 iterations. */
export const scram = {
  'SCRAM-SHA-256': { digest: 'sha256', iterations: 15_000, keyBytes: 32, saltBytes: 28 },
  'SCRAM-SHA-1': { digest: 'sha1', iterations: 10_000, keyBytes: 20, saltBytes: 16 },
} as const

export interface Credentials {
  readonly salt: Buffer
  readonly storedKey: Buffer
  readonly serverKey: Buffer
}

const deriveKey = promisify(pbkdf2)

/** `isDigested`: the client sent MongoDB's older digest of name and password, which SCRAM-SHA-1 uses. */
export async function deriveCredentials(
  mechanism: Mechanism,
  { user, password, isDigested = false }: { user: string; password: string; isDigested?: boolean },
  salt = randomBytes(scram[mechanism].saltBytes),
): Promise<Credentials> {
  const { digest, iterations, keyBytes } = scram[mechanism]
  const secret =
    mechanism === 'SCRAM-SHA-256'
      ? prepared(password)
      : isDigested
        ? password
        : createHash('md5').update(`${user}:mongo:${password}`).digest('hex')
  const salted = await deriveKey(secret, salt, iterations, keyBytes, digest)
  const clientKey = createHmac(digest, salted).update('Client Key').digest()
  return {
    salt,
    storedKey: createHash(digest).update(clientKey).digest(),
    serverKey: createHmac(digest, salted).update('Server Key').digest(),
  }
}

/** Characters that SASLprep leaves out (RFC 3454, table B.1), and spaces that become plain (table C.1.2). */
const omitted = /\u034F|[\u180B-\u180D]|[\uFE00-\uFE0F]|[\u00AD\u1806\u200B\u200C\u2060\uFEFF]|\u200D/gu
const spaces = /[\u00A0\u1680\u2000-\u200A\u202F\u205F\u3000]/gu
const prohibited = /[\p{Cc}\p{Co}\p{Cs}\u2028\u2029\uFFF9-\uFFFD]/u

/** SASLprep (RFC 4013): drivers do the same before they prove that they know the password. */
function prepared(password: string): string {
  const text = password.replaceAll(spaces, ' ').replaceAll(omitted, '').normalize('NFKC')
  if (prohibited.test(text)) throw new CommandError('BadValue', 'The password has a character that SASLprep prohibits')
  return text
}
