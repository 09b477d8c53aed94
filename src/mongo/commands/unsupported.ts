/** Commands of MongoDB that Mayfly refuses by name, so that users do not take them for a misspelling. */

import { double } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import type { Command, CommandCall } from '../service/command.ts'

function refused(name: string, message: string): Command {
  return {
    name,
    isRefused: true,
    run: () => {
      throw new CommandError('NotImplemented', message)
    },
  }
}

/** MongoDB's words outside of Atlas. */
function searchCommand(name: string): Command {
  return {
    name,
    isRefused: true,
    run: () => {
      throw new CommandError(
        'SearchNotEnabled',
        'Using Atlas Search Database Commands and the $listSearchIndexes aggregation stage requires additional ' +
          'configuration. Please connect to Atlas or an AtlasCLI local deployment to enable.',
      )
    },
  }
}

/** There is no profiler, so it is always off. */
function profile({ args }: CommandCall): Fields {
  const level = args.number('profile')
  if (level !== 0 && level !== -1) throw new CommandError('NotImplemented', 'The profiler is not supported.')
  return { was: 0, slowms: 100, sampleRate: double(1) }
}

const capped = 'Capped collections are not supported.'
const mapReduce = 'mapReduce is not supported, because it runs JavaScript. Use the aggregation pipeline.'

const roleCommands = [
  'createRole',
  'updateRole',
  'dropRole',
  'dropAllRolesFromDatabase',
  'grantPrivilegesToRole',
  'revokePrivilegesFromRole',
  'grantRolesToRole',
  'revokeRolesFromRole',
]

export const unsupportedCommands: readonly Command[] = [
  refused('mapReduce', mapReduce),
  refused('mapreduce', mapReduce),
  refused('convertToCapped', capped),
  refused('cloneCollectionAsCapped', capped),
  refused('applyOps', 'applyOps is not supported: there is no oplog. Use mongorestore without --oplogReplay.'),
  { name: 'profile', run: profile },
  ...roleCommands.map(name => refused(name, 'Roles of your own are not supported. Use the built-in roles.')),
  searchCommand('createSearchIndexes'),
  searchCommand('updateSearchIndex'),
  searchCommand('dropSearchIndex'),
]
