/** saslStart, saslContinue, logout: the login. */

import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { bsonType } from '../../document/bson/types.ts'
import { binary } from '../../document/bson/value.ts'
import { mechanisms } from '../access/credentials.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import type { Arguments } from '../requests/arguments.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { LoginError, ScramConversation } from '../session/scram.ts'

/** A connection has one login conversation at a time. */
const conversationId = 1

const empty = new Uint8Array()

function saslStart(call: CommandCall): MaybePromise<Fields> {
  return andThen(startLogin(call, call.args, call.database), answer => answer ?? failed())
}

/** The first step. Undefined if it is malformed. `db` is the database of the user. */
export function startLogin(
  { client, service }: CommandCall,
  args: Arguments,
  db: string,
): MaybePromise<Fields | undefined> {
  const wanted = args.string('mechanism')
  const mechanism = mechanisms.find(name => name === wanted)
  if (mechanism === undefined) {
    throw new CommandError(
      'AuthenticationFailed',
      `Received authentication for mechanism ${wanted} which is unknown or not enabled`,
    )
  }
  const skipsEmptyExchange = args.within('options')?.flag('skipEmptyExchange') ?? false
  try {
    return andThen(
      ScramConversation.begin(service.logins, mechanism, { payload: payloadOf(args), db }),
      conversation => {
        client.login = { conversation, skipsEmptyExchange, isProven: false }
        return { conversationId, done: false, payload: binary(Buffer.from(conversation.serverFirst)) }
      },
    )
  } catch (error) {
    if (error instanceof LoginError) return undefined
    throw error
  }
}

function saslContinue({ client, args }: CommandCall): Fields {
  const { login } = client
  if (login === undefined || args.number('conversationId') !== conversationId) {
    throw new CommandError('ProtocolError', 'No SASL session state found')
  }
  if (login.isProven) {
    client.logIn(login.conversation)
    return { conversationId, done: true, payload: binary(empty) }
  }
  try {
    const payload = binary(Buffer.from(login.conversation.finish(payloadOf(args))))
    if (login.skipsEmptyExchange) {
      client.logIn(login.conversation)
      return { conversationId, done: true, payload }
    }
    login.isProven = true
    return { conversationId, done: false, payload }
  } catch (error) {
    client.login = undefined
    if (error instanceof LoginError) failed()
    throw error
  }
}

function payloadOf(args: Arguments): Uint8Array {
  const payload = args.required('payload')
  if (payload.type === bsonType.binary) return payload.value
  if (payload.type === bsonType.string) return Buffer.from(payload.value)
  throw new LoginError('a payload that is none')
}

function failed(): never {
  throw new CommandError('AuthenticationFailed', 'Authentication failed.')
}

function logout({ client }: CommandCall): Fields {
  client.logOut()
  return {}
}

export const loginCommands: readonly Command[] = [
  { name: 'saslStart', isPublic: true, run: saslStart },
  { name: 'saslContinue', isPublic: true, run: saslContinue },
  { name: 'logout', isPublic: true, run: logout },
]
