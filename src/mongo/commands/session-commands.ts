/**
 * startSession, endSessions and related commands. A session needs none of them: it begins with its first
 * use.
 */

import { randomUUID } from 'node:crypto'
import { binary } from '../../document/bson/value.ts'
import type { Fields } from '../answers/fields.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { mongoSessionMinutes } from '../session/retry-record.ts'

function startSession({ service }: CommandCall): Fields {
  const id = binary(Buffer.from(randomUUID().replaceAll('-', ''), 'hex'), 4)
  service.sessions.begin(id.value)
  return { id: { id }, timeoutMinutes: mongoSessionMinutes }
}

function endSessions({ service, args }: CommandCall): Fields {
  for (const lsid of args.documents(args.name) ?? []) {
    const session = service.sessions.find(lsid)
    if (session === undefined) continue
    service.cursors.closeOfSession(session.key)
    service.sessions.end(session)
  }
  return {}
}

function refreshSessions({ service, args }: CommandCall): Fields {
  for (const lsid of args.documents('refreshSessions') ?? []) service.sessions.use(lsid)
  return {}
}

/** An empty list means all sessions. */
function killSessions(call: CommandCall): Fields {
  const { service, args } = call
  const named = args.documents(args.name) ?? []
  if (named.length > 0) return endSessions(call)
  for (const session of service.sessions.list()) {
    service.cursors.closeOfSession(session.key)
    service.sessions.end(session)
  }
  return {}
}

function killAllSessions({ service }: CommandCall): Fields {
  for (const session of service.sessions.list()) {
    service.cursors.closeOfSession(session.key)
    service.sessions.end(session)
  }
  return {}
}

export const sessionCommands: readonly Command[] = [
  { name: 'startSession', run: startSession },
  { name: 'endSessions', run: endSessions },
  { name: 'refreshSessions', run: refreshSessions },
  { name: 'killSessions', run: killSessions },
  { name: 'killAllSessions', run: killAllSessions },
  { name: 'killAllSessionsByPattern', run: killAllSessions },
]
