/**
 * startSession, endSessions and related commands. A session needs none of them: it begins with its first
 * use.
 */

import { randomUUID } from 'node:crypto'
import { binary } from '../../document/bson/value.ts'
import type { Fields } from '../answers/fields.ts'
import type { Command, CommandCall } from '../service/command.ts'
import type { MongoService } from '../service/service.ts'
import { mongoSessionMinutes } from '../session/retry-record.ts'
import type { ClientSession } from '../session/sessions.ts'

function startSession({ service, client }: CommandCall): Fields {
  const id = binary(Buffer.from(randomUUID().replaceAll('-', ''), 'hex'), 4)
  service.sessions.begin(id.value, client.owner)
  return { id: { id }, timeoutMinutes: mongoSessionMinutes }
}

/** A user can name only its own sessions. */
function endSessions({ service, client, args }: CommandCall): Fields {
  for (const lsid of args.documents(args.name) ?? []) {
    const session = service.sessions.find(lsid, client.owner)
    if (session !== undefined) end(service, session)
  }
  return {}
}

function refreshSessions({ service, client, args }: CommandCall): Fields {
  for (const lsid of args.documents('refreshSessions') ?? []) service.sessions.use(lsid, client.owner)
  return {}
}

/** An empty list means all sessions of the user. */
function killSessions(call: CommandCall): Fields {
  const { service, client, args } = call
  const named = args.documents(args.name) ?? []
  if (named.length > 0) return endSessions(call)
  for (const session of service.sessions.list()) if (session.owner === client.owner) end(service, session)
  return {}
}

function killAllSessions({ service }: CommandCall): Fields {
  for (const session of service.sessions.list()) end(service, session)
  return {}
}

function end({ sessions, cursors }: MongoService, session: ClientSession): void {
  cursors.closeOfSession(session.key)
  sessions.end(session)
}

export const sessionCommands: readonly Command[] = [
  { name: 'startSession', run: startSession },
  { name: 'endSessions', run: endSessions },
  { name: 'refreshSessions', run: refreshSessions },
  { name: 'killSessions', run: killSessions },
  { name: 'killAllSessions', run: killAllSessions },
  { name: 'killAllSessionsByPattern', run: killAllSessions },
]
