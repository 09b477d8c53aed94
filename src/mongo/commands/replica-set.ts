/** Commands that ask about the replica set, which has one member. */

import { machine } from '../../base/clock.ts'
import { date } from '../../document/bson/value.ts'
import type { Fields } from '../answers/fields.ts'
import type { Command, CommandCall } from '../service/command.ts'
import { setName } from './hello.ts'

const primary = 1
const heartbeatMs = 2000

function replSetGetStatus({ service, client }: CommandCall): Fields {
  const seconds = service.clock.now()
  const optime = { ts: service.clusterTime.now(), t: 1n }
  const at = date(BigInt(seconds) * 1000n)
  return {
    set: setName,
    date: date(BigInt(machine.epochMs())),
    myState: primary,
    term: 1n,
    heartbeatIntervalMillis: BigInt(heartbeatMs),
    majorityVoteCount: 1,
    writeMajorityCount: 1,
    votingMembersCount: 1,
    writableVotingMembersCount: 1,
    optimes: { lastCommittedOpTime: optime, appliedOpTime: optime, durableOpTime: optime, lastAppliedWallTime: at },
    members: [
      {
        _id: 0,
        name: client.serverAddress,
        health: 1,
        state: primary,
        stateStr: 'PRIMARY',
        uptime: Math.floor(service.uptimeMs() / 1000),
        optime,
        optimeDate: at,
        configVersion: 1,
        configTerm: 1,
        self: true,
      },
    ],
  }
}

function replSetGetConfig({ client }: CommandCall): Fields {
  return {
    config: {
      _id: setName,
      version: 1,
      term: 1n,
      members: [
        {
          _id: 0,
          host: client.serverAddress,
          arbiterOnly: false,
          buildIndexes: true,
          hidden: false,
          priority: 1,
          tags: {},
          secondaryDelaySecs: 0n,
          votes: 1,
        },
      ],
      protocolVersion: 1n,
      settings: { chainingAllowed: true, heartbeatIntervalMillis: heartbeatMs },
    },
  }
}

export const replicaSetCommands: readonly Command[] = [
  { name: 'replSetGetStatus', isForAdmin: true, run: replSetGetStatus },
  { name: 'replSetGetConfig', isForAdmin: true, run: replSetGetConfig },
]
