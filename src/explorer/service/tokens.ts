/**
 * Texts that the page holds for the server: positions in lists, and keys of items. Positions are signed and
 * bound to their list, so that the rest of the code can trust what is in them.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { RequestError } from '../../base/error.ts'
import type { ItemKey } from '../../store/item.ts'

/** Longer ones were never given out: three names of at most 2 KB each. */
const keyCharsMax = 20_000

export function signToken(secret: Buffer, scope: string, value: unknown): string {
  const text = Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${text}.${seal(secret, scope, text)}`
}

export function readToken(secret: Buffer, scope: string, token: string): unknown {
  const [text = '', signature = ''] = token.split('.', 2)
  const expected = Buffer.from(seal(secret, scope, text))
  const given = Buffer.from(signature)
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) {
    throw new RequestError('malformed', 'The position does not belong to this list. Load the list again.')
  }
  return JSON.parse(Buffer.from(text, 'base64url').toString())
}

function seal(secret: Buffer, scope: string, text: string): string {
  return createHmac('sha256', secret).update(`${scope}\n${text}`).digest('base64url').slice(0, 22)
}

export function printKey({ epk, pk, id }: ItemKey): string {
  return Buffer.from(JSON.stringify([epk, pk, id])).toString('base64url')
}

export function readKey(text: string): ItemKey {
  if (text.length <= keyCharsMax) {
    try {
      const parts: unknown = JSON.parse(Buffer.from(text, 'base64url').toString())
      if (Array.isArray(parts) && parts.length === 3 && parts.every(part => typeof part === 'string')) {
        const [epk, pk, id] = parts as [string, string, string]
        return { epk, pk, id }
      }
    } catch {
      // It is refused below.
    }
  }
  throw new RequestError('malformed', 'The key of the item is not one that the server gave out.')
}
