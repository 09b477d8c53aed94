/** Decides whether a user may run a command, by the roles that the user has at this moment. */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { BsonDocument, string } from '../../document/bson/value.ts'
import { printDocument } from '../../mql/errors/print.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Arguments } from '../requests/arguments.ts'
import { type AccessRequest, needs } from './needs.ts'
import type { Privilege } from './privilege.ts'
import type { Rights } from './rights.ts'
import { type NamedUser, type UserName, type Users, userKey } from './users.ts'

/** The user that runs a command, if it is not the account: what it may do, and what the command needed. */
export interface Access {
  readonly user: UserName
  /** The same for all connections of the user. */
  readonly key: string
  readonly rights: Rights
  readonly needed: readonly Privilege[]
}

type Asked = Pick<AccessRequest, 'args' | 'sequences' | 'database'> & { readonly command: string }

/** Undefined: the user does not exist any more. */
export function authorize(users: Users, user: NamedUser, asked: Asked): MaybePromise<Access | undefined> {
  return andThen(users.current(user), found => {
    if (found === undefined) return undefined
    const { rights, roles } = found
    const need = Object.hasOwn(needs, asked.command) ? needs[asked.command] : undefined
    const needed = need?.({ ...asked, user, rights, roles })
    if (needed === undefined || !rights.allowsAll(needed)) throw notAuthorized(asked)
    return { user, key: userKey(user), rights, needed }
  })
}

/** Commands that are longer are not shown in the message. */
const shownCommandBytesMax = 4096

export function notAuthorized({ args, database }: Pick<Asked, 'args' | 'database'>): CommandError {
  const shown = args.bytes.length > shownCommandBytesMax ? `{ ${args.name}: ... }` : printCommand(args)
  return new CommandError('Unauthorized', `not authorized on ${database} to execute command ${shown}`)
}

/** Passwords are not shown. */
function printCommand(args: Arguments): string {
  const fields = args.names.map(name => [name, name === 'pwd' ? string('xxx') : args.value(name)!] as const)
  return printDocument(BsonDocument.of(fields))
}
