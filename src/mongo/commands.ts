/** The table of all commands, by family. */

import type { Fields } from './answers/fields.ts'
import { aggregateCommands } from './commands/aggregate.ts'
import { collModCommands } from './commands/coll-mod.ts'
import { collectionCommands } from './commands/collections.ts'
import { countAndDistinctCommands } from './commands/count-and-distinct.ts'
import { cursorCommands } from './commands/cursor-commands.ts'
import { customActionCommands } from './commands/custom-actions.ts'
import { databaseCommands } from './commands/databases.ts'
import { deleteCommands } from './commands/delete.ts'
import { diagnosticCommands } from './commands/diagnostics.ts'
import { explainCommands } from './commands/explain.ts'
import { findCommands } from './commands/find.ts'
import { findAndModifyCommands } from './commands/find-and-modify.ts'
import { helloCommands } from './commands/hello.ts'
import { indexCommands } from './commands/indexes.ts'
import { insertCommands } from './commands/insert.ts'
import { loginCommands } from './commands/login.ts'
import { replicaSetCommands } from './commands/replica-set.ts'
import { sessionCommands } from './commands/session-commands.ts'
import { transactionCommands } from './commands/transaction-commands.ts'
import { unsupportedCommands } from './commands/unsupported.ts'
import { updateCommands } from './commands/update.ts'
import { userCommands } from './commands/users.ts'
import type { Command } from './service/command.ts'

export const commandFamilies = {
  greeting: helloCommands,
  login: loginCommands,
  users: userCommands,
  reading: [...findCommands, ...countAndDistinctCommands, ...aggregateCommands, ...explainCommands],
  writing: [...insertCommands, ...updateCommands, ...deleteCommands, ...findAndModifyCommands],
  cursors: cursorCommands,
  sessions: sessionCommands,
  transactions: transactionCommands,
  databases: databaseCommands,
  collections: [...collectionCommands, ...collModCommands],
  indexes: indexCommands,
  cosmos: customActionCommands,
  'replica set': replicaSetCommands,
  diagnostics: [...diagnosticCommands, { name: 'listCommands', run: listCommands }],
  'not supported': unsupportedCommands,
} as const satisfies Record<string, readonly Command[]>

const byName = new Map<string, Command>(
  Object.values(commandFamilies)
    .flat()
    .map(command => [command.name, command]),
)

function listCommands(): Fields {
  const shown = [...byName.values()].map(({ name, isPublic = false, isForAdmin = false }): [string, Fields] => [
    name,
    { help: '', requiresAuth: !isPublic, adminOnly: isForAdmin },
  ])
  return { commands: Object.fromEntries(shown) }
}

/** Commands on documents: `getLastRequestStatistics` reports the cost of the last one of these. */
export const documentCommands: ReadonlySet<Command> = new Set<Command>([
  ...commandFamilies.reading,
  ...commandFamilies.writing,
])

export function findCommand(name: string): Command | undefined {
  return byName.get(name)
}
