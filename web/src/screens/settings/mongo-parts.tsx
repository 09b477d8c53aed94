/** The parts of a Mongo collection's settings: its TTL indexes, all indexes, shard key, change streams. */

import { useState } from 'preact/hooks'
import { switchMongo } from '../../api/container-calls.ts'
import type { MongoIndex, MongoSettings, MongoSwitches, Shares } from '../../api/container-shapes.ts'
import { CodeView } from '../../components/code-view.tsx'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toasts.tsx'
import type { TtlChoice } from '../../containers/input-rules.ts'
import { mayWrite } from '../../live/server-state.ts'
import { count } from '../../text/number-text.ts'
import { Frame } from './frame.tsx'
import { openDropIndex, openEditIndex, openNewDateIndex, openNewIndex } from './index-dialogs.tsx'
import { endText, indexKeyText } from './index-form.ts'
import type { PartProps } from './part.ts'
import type { RadioCard } from './radio-cards.tsx'
import { Switch } from './switch.tsx'
import { TtlPart } from './ttl-part.tsx'

type Props = PartProps<MongoSettings>

const dateFirst = 'This collection has date indexes. Drop them first: it has either those or an index on _ts.'
const modificationFirst = 'This collection has an index on _ts. Choose Off first: it has either that or date indexes.'

function cards(hasDateIndexes: boolean): readonly RadioCard<TtlChoice>[] {
  const disabled = hasDateIndexes ? dateFirst : undefined
  return [
    { value: 'off', label: 'Off', text: 'No index on _ts. A ttl in a document is only data.' },
    {
      value: 'no default',
      label: 'On (no default)',
      text: 'Index on _ts with -1: only documents with a ttl of their own expire.',
      disabled,
    },
    {
      value: 'on',
      label: 'On',
      text: 'Documents expire after this time, except those with a ttl of their own.',
      disabled,
    },
  ]
}

export function MongoTtl(props: Props) {
  const { settings, name, onSettings } = props
  const ending = settings.indexes.filter(({ kind }) => kind !== 'plain')
  const hasDateIndexes = ending.some(({ kind }) => kind === 'date')
  const hasModification = ending.some(({ kind }) => kind === 'modification')
  return (
    <TtlPart
      {...props}
      cards={cards(hasDateIndexes)}
      lead={
        <>
          How long a document lives after its last modification. Saving writes the TTL index on{' '}
          <span class="mono t1">_ts</span>.
        </>
      }
    >
      {hasDateIndexes && (
        <p class="note plain">
          <Icon name="info" />
          <span>Documents die by a date of their own here, not by the time of their last modification.</span>
        </p>
      )}
      <div class="card">
        <header>
          <h2 class="grow">Indexes that end documents</h2>
          {mayWrite.value && (
            <button
              type="button"
              class="btn sm"
              disabled={hasModification}
              title={hasModification ? modificationFirst : undefined}
              onClick={() => openNewDateIndex({ name, onSettings })}
            >
              <Icon name="add" small />
              Add date index
            </button>
          )}
        </header>
        {ending.length === 0 ? (
          <p class="body t2">None. Documents of this collection do not die.</p>
        ) : (
          <EndingIndexes {...props} indexes={ending} />
        )}
        <p class="card-note">{hasModification ? modificationFirst : 'Where several apply, the earliest end wins.'}</p>
      </div>
      <Switches settings={settings} />
    </TtlPart>
  )
}

function EndingIndexes({ name, onSettings, settings, indexes }: Props & { indexes: readonly MongoIndex[] }) {
  return (
    <div class="scroll-x">
      <table class="tbl">
        <thead>
          <tr>
            <th scope="col">index</th>
            <th scope="col">keys</th>
            <th scope="col" class="hide-m">
              a document dies
            </th>
            <th scope="col" class="r hide-m">
              documents it ends
            </th>
            <th scope="col">
              <span class="sr">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {indexes.map((index, at) => (
            <tr key={index.name}>
              <td class="mono">{index.name}</td>
              <td class="mono t2">{indexKeyText(index.key)}</td>
              <td class="hide-m">{endText(index.kind as 'date', index.expireAfterSeconds ?? 0)}</td>
              {at === 0 && (
                <td class="r hide-m" rowSpan={indexes.length}>
                  {endedTogether(indexes, settings.shares)}
                </td>
              )}
              <td class="r">
                {index.kind === 'date' && mayWrite.value && (
                  <button
                    type="button"
                    class="btn txt sm"
                    aria-label={`Edit ${index.name}`}
                    onClick={() => openEditIndex({ name, onSettings }, index)}
                  >
                    Edit
                  </button>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

/** All of them together: no count tells which one of several dates comes first. */
function endedTogether(indexes: readonly MongoIndex[], { none, own, isAbout }: Shares): string {
  const inheriting = indexes.some(
    ({ kind, expireAfterSeconds = 0 }) => kind === 'modification' && expireAfterSeconds > 0,
  )
  const number = `${isAbout ? 'about ' : ''}${count((inheriting ? none : 0) + own)}`
  return indexes.length > 1 ? `${number} together` : number
}

function Switches({ settings }: { settings: MongoSettings }) {
  const [state, setState] = useState<MongoSwitches>({
    documentTtl: settings.documentTtl,
    expiryEvents: settings.expiryEvents,
  })
  const change = async (body: Partial<MongoSwitches>) => {
    try {
      setState(await switchMongo(body))
    } catch (error) {
      showToast({ kind: 'failed', title: error instanceof Error ? error.message : String(error) })
    }
  }
  return (
    <div class="card">
      <Switch
        label="Per-document TTL"
        isOn={state.documentTtl}
        disabled={!mayWrite.value}
        onChange={documentTtl => change({ documentTtl })}
      >
        A whole number in <span class="mono">ttl</span> at the root of a document counts. Off: every{' '}
        <span class="mono">ttl</span> is only data. Applies to documents that are written from now on, on the whole
        server.
      </Switch>
      <Switch
        label="Deaths in change streams"
        isOn={state.expiryEvents}
        disabled={!mayWrite.value}
        onChange={expiryEvents => change({ expiryEvents })}
      >
        A death is a delete event with <span class="mono">mayflyExpired: true</span>. Azure shows none; turn it off to
        be the same. Applies to the whole server.
      </Switch>
    </div>
  )
}

export function MongoIndexes({ settings, name, onSettings }: Props) {
  return (
    <Frame
      title="Indexes"
      lead="Declared indexes of this collection. Others are made and dropped by themselves, as queries need them."
    >
      <div class="card">
        <header>
          <h2 class="grow">All indexes</h2>
          {mayWrite.value && (
            <button type="button" class="btn sm" onClick={() => openNewIndex({ name, onSettings })}>
              <Icon name="add" small />
              New index
            </button>
          )}
        </header>
        <div class="scroll-x">
          <table class="tbl">
            <thead>
              <tr>
                <th scope="col">index</th>
                <th scope="col">keys</th>
                <th scope="col" class="hide-m">
                  kind
                </th>
                <th scope="col">
                  <span class="sr">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {settings.indexes.map(index => (
                <tr key={index.name}>
                  <td class="mono">{index.name}</td>
                  <td class="mono t2">{indexKeyText(index.key)}</td>
                  <td class="hide-m">{kindText(index)}</td>
                  <td class="r">
                    {index.kind === 'plain' && index.name !== '_id_' && mayWrite.value && (
                      <button
                        type="button"
                        class="btn txt sm dgr"
                        aria-label={`Drop ${index.name}`}
                        onClick={() => openDropIndex({ name, onSettings }, index)}
                      >
                        Drop
                      </button>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        <p class="card-note">Indexes that end documents are changed under Time to Live.</p>
      </div>
    </Frame>
  )
}

function kindText({ kind, isUnique, state }: MongoIndex): string {
  const words = [kind === 'plain' ? (isUnique ? 'unique' : 'plain') : 'ends documents']
  if (state !== undefined && state !== 'ready') words.push(state)
  return words.join(', ')
}

export function ShardKey({ settings }: Props) {
  const { shardKey, validator } = settings
  return (
    <Frame
      title="Shard key"
      lead="The field that decides where a document lies. It is chosen when a collection is created."
    >
      <div class="card">
        {shardKey.length === 0 ? (
          <p class="body t2">This collection is unsharded.</p>
        ) : (
          <ul class="key-list">
            {shardKey.map(field => (
              <li key={field} class="mono">
                {field}
              </li>
            ))}
          </ul>
        )}
      </div>
      {validator !== null && validator !== undefined && (
        <div class="card">
          <header>
            <h2>Validator</h2>
          </header>
          <CodeView text={JSON.stringify(validator, null, 2)} language="json" label="Validator" />
        </div>
      )}
    </Frame>
  )
}

export function ChangeStreams({ settings }: Props) {
  return (
    <Frame title="Change streams" lead="What those who watch this collection are told.">
      <Switches settings={settings} />
    </Frame>
  )
}
