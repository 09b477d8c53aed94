/**
 * The keys of the account: which are valid now, and which of them may only read.
 *
 * The first key is the primary one: the server signs with it and shows it to its own programs. Keys can be
 * replaced while the server runs. A key that is no longer in the list is refused with the next request.
 */

import { hash, timingSafeEqual } from 'node:crypto'
import { assert } from './error.ts'

/**
 * The key of every emulator, used in the samples of every SDK. It is public and protects nothing: only an
 * address that others cannot reach does.
 */
export const wellKnownKey = 'C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw=='

export interface AccountKey {
  /** In base64. */
  readonly text: string
  readonly isReadOnly: boolean
}

export class AccountKeys {
  #all!: readonly AccountKey[]

  constructor(keys: readonly AccountKey[]) {
    this.replace(keys)
  }

  /** Another list after each replacement, so that its identity tells whether the keys have changed. */
  get all(): readonly AccountKey[] {
    return this.#all
  }

  /** The text of the first key, which may write. */
  get primary(): string {
    return this.#all[0]!.text
  }

  /** Whether one of the keys is public, and so protects nothing. */
  get isWellKnown(): boolean {
    return this.#all.some(({ text }) => text === wellKnownKey)
  }

  replace(keys: readonly AccountKey[]): void {
    assert(keys[0]?.isReadOnly === false, 'the first key must be able to write')
    this.#all = [...keys]
  }

  /** The key with this text. The time that it takes tells nothing about the keys. */
  find(text: string): AccountKey | undefined {
    const given = digest(text)
    let found: AccountKey | undefined
    for (const key of this.#all) if (timingSafeEqual(digest(key.text), given)) found = key
    return found
  }
}

function digest(text: string): Buffer {
  return hash('sha256', text, 'buffer')
}
