/**
 * The users of databases, as items in the store. Every gateway reads them there, so a change counts from the
 * next request on, wherever it arrives.
 */

import { randomBytes } from 'node:crypto'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { documentOf } from '../../document/body.ts'
import { compareTexts } from '../../document/key-writer.ts'
import type { Engine } from '../../engine/engine.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey, StoredItem } from '../../store/item.ts'
import type { ItemChange } from '../../store/writing.ts'
import { CommandError } from '../answers/command-error.ts'
import { isDatabaseName } from '../requests/namespace.ts'
import type { RoleName } from './built-in-roles.ts'
import type { Mechanism } from './credentials.ts'
import { Rights } from './rights.ts'

export interface UserName {
  readonly user: string
  readonly db: string
}

/** A user who logged in. */
export interface NamedUser extends UserName {
  readonly userId: string
}

/** Texts are base64. */
export interface StoredCredentials {
  readonly iterationCount: number
  readonly salt: string
  readonly storedKey: string
  readonly serverKey: string
}

export interface UserRecord extends UserName {
  /** A new one for each user, so that a user who takes an old name is not taken for the old one. */
  readonly userId: string
  readonly roles: readonly RoleName[]
  readonly credentials: Readonly<Partial<Record<Mechanism, StoredCredentials>>>
  /** BSON in base64. */
  readonly customData?: string | undefined
}

export type KnownUser = UserRecord & { readonly rights: Rights }

/** The user of a read-only key of the account. */
export const readOnlyAccount: KnownUser = (() => {
  const roles = ['readAnyDatabase', 'clusterMonitor'].map(role => ({ role, db: 'admin' })) as RoleName[]
  // The users of databases have random ids.
  return { user: '', db: 'admin', userId: 'read-only account', roles, rights: new Rights(roles), credentials: {} }
})()

const containerName = 'mongo-users'
/** One owner for all: there are few users, and lists are rarely asked for. */
const owner = 'users'
const secretId = 'secret'

/** Parsed users that are kept. They are read with each request, and parsed when they have changed. */
const parsedUsersMax = 1000

/** The name is part of a key in the store. PostgreSQL limits the length of keys, and their characters. */
export const userNameBytesMax = 255

/** Strangers send any name. The store is asked only for one that a user can have. */
function isPossible({ user, db }: UserName): boolean {
  return Buffer.byteLength(user) <= userNameBytesMax && !user.includes('\0') && isDatabaseName(db)
}

function printUser({ user, db }: UserName): string {
  return `${user}@${db}`
}

/** The names of a database have no dot, so this is unique. */
export function userKey({ user, db }: UserName): string {
  return `${db}.${user}`
}

export class Users {
  readonly #engine: Engine
  readonly #parsed = new Map<string, { readonly version: number; readonly known: KnownUser }>()
  /** Once found it stays: it cannot be deleted. */
  #container: ContainerRecord | undefined
  #secret: string | undefined

  constructor(engine: Engine) {
    this.#engine = engine
  }

  /**
   * The user who logged in, with its present roles. Undefined: it was deleted, or its name is of a new user.
   */
  current(named: NamedUser): MaybePromise<KnownUser | undefined> {
    if (named.userId === readOnlyAccount.userId) return readOnlyAccount
    return andThen(this.find(named), found => (found?.userId === named.userId ? found : undefined))
  }

  find(name: UserName): MaybePromise<KnownUser | undefined> {
    if (!isPossible(name)) return undefined
    return andThen(this.#findContainer(), container => {
      if (container === undefined) return undefined
      const id = userKey(name)
      return andThen(this.#engine.systemItems.find(container, itemKey(container, [owner], id)), item => {
        if (item !== undefined) return this.#known(id, item)
        this.#parsed.delete(id)
        return undefined
      })
    })
  }

  /** All users, in the order of their names. */
  async list(): Promise<UserRecord[]> {
    const container = await this.#findContainer()
    if (container === undefined) return []
    const items = await this.#engine.systemItems.list(container, owner)
    return items.map(parse).sort((a, b) => compareTexts(a.user, b.user) || compareTexts(a.db, b.db))
  }

  /**
   * The secret from which the salts of unknown names are made. It is stored with the first user. From then
   * on these salts stay the same, as those of users do, whatever keys the account has.
   */
  secret(): MaybePromise<string | undefined> {
    if (this.#secret !== undefined) return this.#secret
    return andThen(this.#findContainer(), container => {
      if (container === undefined) return undefined
      return andThen(this.#engine.systemItems.find(container, secretKey(container)), item => {
        this.#secret = item === undefined ? undefined : (documentOf(item.body) as { secret: string }).secret
        return this.#secret
      })
    })
  }

  async create(record: UserRecord): Promise<void> {
    await this.#storeSecret()
    await this.#transact(record, found => {
      if (found !== undefined) throw userExists(record)
      return write(record)
    })
  }

  /** Undefined removes the user. */
  async change(name: UserName, decide: (found: UserRecord) => UserRecord | undefined): Promise<void> {
    await this.#transact(name, found => {
      if (found === undefined) throw new CommandError('UserNotFound', `User ${printUser(name)} not found`)
      const changed = decide(found)
      return changed === undefined ? { kind: 'delete' } : write(changed)
    })
  }

  async #transact(name: UserName, decide: (found: UserRecord | undefined) => ItemChange): Promise<void> {
    this.#container ??= await this.#engine.systemItems.container(containerName, null)
    const container = this.#container
    const { refusal } = await this.#engine.systemItems.transact([
      {
        container,
        key: itemKey(container, [owner], userKey(name)),
        decide: found => decide(found === undefined ? undefined : parse(found)),
      },
    ])
    if (refusal === undefined) return
    throw refusal.error ?? new CommandError('WriteConflict', `User ${printUser(name)} was changed meanwhile`)
  }

  async #storeSecret(): Promise<void> {
    if (this.#secret !== undefined) return
    const container = await this.#engine.systemItems.container(containerName, null)
    const text = JSON.stringify({ id: secretId, owner: secretId, secret: randomBytes(32).toString('base64') })
    await this.#engine.systemItems.write(container, {
      kind: 'create',
      key: secretKey(container),
      draft: { texts: [text], stamps: [] },
      ttl: undefined,
    })
  }

  /** Does not create it: strangers, who try names, must not write anything. */
  #findContainer(): MaybePromise<ContainerRecord | undefined> {
    if (this.#container !== undefined) return this.#container
    return andThen(this.#engine.systemItems.findContainer(containerName), container => {
      this.#container = container
      return container
    })
  }

  #known(id: string, item: StoredItem): KnownUser {
    const parsed = this.#parsed.get(id)
    if (parsed?.version === item.version) return parsed.known
    const record = parse(item)
    const known = { ...record, rights: new Rights(record.roles) }
    this.#parsed.set(id, { version: item.version, known })
    // A Map keeps insertion order, so the first entry is the oldest.
    if (this.#parsed.size > parsedUsersMax) this.#parsed.delete(this.#parsed.keys().next().value!)
    return known
  }
}

function secretKey(container: ContainerRecord): ItemKey {
  return itemKey(container, [secretId], secretId)
}

export function userExists(name: UserName): CommandError {
  return new CommandError(51003, `User "${printUser(name)}" already exists`)
}

function parse({ body }: StoredItem): UserRecord {
  return documentOf(body) as UserRecord
}

function write(record: UserRecord): ItemChange {
  const text = JSON.stringify({ id: userKey(record), owner, ...record })
  return { kind: 'upsert', draft: { texts: [text], stamps: [] }, ttl: undefined }
}
