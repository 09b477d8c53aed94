/** The settings of a container, part by part, as in the portal. */

import { useRef, useState } from 'preact/hooks'
import { getSettings } from '../../api/container-calls.ts'
import type { MongoSettings, NosqlSettings, Settings } from '../../api/container-shapes.ts'
import { Refusal } from '../../components/refusal.tsx'
import { useRefresh } from '../../live/refresh.ts'
import { reloadTree } from '../../live/server-state.ts'
import { useWatch } from '../../live/use-watch.ts'
import type { ScreenProps } from '../screen-props.ts'
import { Definition, IndexingPolicy } from './definition-part.tsx'
import { FrameContext, type PartName } from './frame.tsx'
import { ChangeStreams, MongoIndexes, MongoTtl, ShardKey } from './mongo-parts.tsx'
import { ChangeFeed, NosqlTtl, UniqueKeys } from './nosql-parts.tsx'
import './settings-part.css'
import { ThroughputPart } from './throughput-part.tsx'

const nosqlParts: readonly PartName[] = [
  { id: 'ttl', label: 'Time to Live' },
  { id: 'indexing', label: 'Indexing policy' },
  { id: 'throughput', label: 'Throughput' },
  { id: 'unique', label: 'Unique keys' },
  { id: 'feed', label: 'Change feed' },
  { id: 'definition', label: 'All as JSON' },
]

const mongoParts: readonly PartName[] = [
  { id: 'ttl', label: 'Time to Live' },
  { id: 'indexes', label: 'Indexes' },
  { id: 'throughput', label: 'Throughput' },
  { id: 'shard', label: 'Shard key' },
  { id: 'streams', label: 'Change streams' },
]

export function SettingsScreen({ route, container }: ScreenProps) {
  const [settings, setSettings] = useState<Settings | undefined>()
  const [error, setError] = useState<unknown>()
  const saves = useRef(0)
  const { database } = route
  const name = { database, container: route.container }
  useWatch(name)
  useRefresh(
    async signal => {
      const savesBefore = saves.current
      try {
        const next = await getSettings(name, signal)
        // What was asked for before a save may come after its answer.
        if (saves.current === savesBefore) setSettings(known => (isSame(known, next) ? known : next))
        setError(undefined)
      } catch (thrown) {
        if (signal.aborted) throw thrown
        setError(thrown)
      }
    },
    { gapMs: 2000, events: ['catalog', 'counts', 'time'] },
    [database, route.container],
  )
  const take = (next: Settings) => {
    saves.current++
    setSettings(next)
    // The header and the tree show some of it.
    void reloadTree().catch(() => {})
  }
  const parts = container.api === 'mongo' ? mongoParts : nosqlParts
  const part = parts.find(({ id }) => id === route.params.part)?.id ?? 'ttl'
  return (
    <FrameContext.Provider value={{ route, container, parts, part }}>
      {error !== undefined && <Refusal error={error} />}
      {settings === undefined ? (
        <div class="settings-form" aria-busy="true" />
      ) : settings.api === 'mongo' ? (
        <MongoPart key={part} part={part} name={name} container={container} settings={settings} onSettings={take} />
      ) : (
        <NosqlPart key={part} part={part} name={name} container={container} settings={settings} onSettings={take} />
      )}
    </FrameContext.Provider>
  )
}

/** Both come from the same call, so their fields have one order. */
function isSame(one: Settings | undefined, other: Settings): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

type Shared = Omit<Parameters<typeof ThroughputPart>[0], 'settings'> & { part: string }

function NosqlPart({ part, ...props }: Shared & { settings: NosqlSettings }) {
  if (part === 'throughput') return <ThroughputPart {...props} />
  if (part === 'indexing') return <IndexingPolicy {...props} />
  if (part === 'definition') return <Definition {...props} />
  if (part === 'unique') return <UniqueKeys {...props} />
  if (part === 'feed') return <ChangeFeed {...props} />
  return <NosqlTtl {...props} />
}

function MongoPart({ part, ...props }: Shared & { settings: MongoSettings }) {
  if (part === 'throughput') return <ThroughputPart {...props} />
  if (part === 'indexes') return <MongoIndexes {...props} />
  if (part === 'shard') return <ShardKey {...props} />
  if (part === 'streams') return <ChangeStreams {...props} />
  return <MongoTtl {...props} />
}
