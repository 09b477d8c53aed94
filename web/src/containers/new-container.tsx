/** The form for a new container or collection, in a database that is there or a new one. */

import { useState } from 'preact/hooks'
import { createContainer, createDatabase, type NewContainer as NewContainerBody } from '../api/calls.ts'
import { ApiError, messageOf } from '../api/client.ts'
import type { Api } from '../api/shapes.ts'
import { Field } from '../components/field.tsx'
import { FormDialog } from '../components/form-dialog.tsx'
import { Segments } from '../components/segments.tsx'
import { databases, reloadTree, session } from '../live/server-state.ts'
import { showDialog } from '../navigation/dialogs.ts'
import { go } from '../navigation/router.ts'
import { addressOf } from '../navigation/routes.ts'
import { idProblem, keyProblem, pathsIn, readTtlField, type TtlChoice, uniqueKeyProblem } from './input-rules.ts'
import { leastText, readThroughput, ruLabel, type ThroughputKind, throughputHint } from './throughput-form.ts'
import { UniqueKeyFields } from './unique-key-fields.tsx'

const ttlChoices: readonly { value: TtlChoice; label: string }[] = [
  { value: 'off', label: 'Off' },
  { value: 'no default', label: 'On (no default)' },
  { value: 'on', label: 'On' },
]

/** What is wrong with a field, also `uniqueKeys/0` for the first of the unique keys. */
type Problems = Readonly<Record<string, string | undefined>>

const isTaken = (error: unknown) => error instanceof ApiError && error.code === 'already_exists'

/** Fields of the form, by the name that the server gives them. */
const fieldNames = /^(id|partitionKey|defaultTtl|throughput|uniqueKeys(\/\d+)?)$/

/** Which field an error of the server is about. */
function fieldOf(error: unknown): string | undefined {
  if (!(error instanceof ApiError)) return undefined
  if (isTaken(error)) return 'id'
  return error.field !== undefined && fieldNames.test(error.field) ? error.field : undefined
}

/** `shared`: that of the database. */
type Provision = ThroughputKind | 'shared'

export const openNewContainer = (database?: string) =>
  showDialog(close => <NewContainer {...(database && { database })} onClose={close} />)

function NewContainer({ database, onClose }: { database?: string; onClose: () => void }) {
  const known = databases.value ?? []
  const [databaseId, setDatabaseId] = useState(database ?? known[0]?.id ?? '')
  const [api, setApi] = useState<Api>('nosql')
  const [id, setId] = useState('')
  const [key, setKey] = useState('/id')
  const [shardKey, setShardKey] = useState('')
  const [uniqueKeys, setUniqueKeys] = useState<readonly string[]>([])
  const [ttl, setTtl] = useState<TtlChoice>('on')
  const [ttlText, setTtlText] = useState('1 h')
  const [provision, setProvision] = useState<Provision>('shared')
  const [ruText, setRuText] = useState('400')
  const [problems, setProblems] = useState<Problems>({})
  const hasMongo = Boolean(session.value?.mongoUri)
  const place = api === 'mongo' ? 'collection' : 'container'
  const isShareable = Boolean(known.find(each => each.id === databaseId)?.throughput)
  // Without a throughput in the database there is nothing to share.
  const throughputKind = provision === 'shared' && !isShareable ? 'manual' : provision

  const read = (): { problems: Problems; body: NewContainerBody } => {
    const ttlField = readTtlField(ttl, ttlText)
    const keyText = api === 'mongo' ? shardKey : key
    const ru = throughputKind === 'shared' ? {} : readThroughput(throughputKind, ruText)
    const unique = api === 'mongo' ? [] : uniqueKeys
    const found: Problems = {
      database: idProblem(databaseId),
      id: idProblem(id),
      partitionKey: keyProblem(api, keyText),
      defaultTtl: ttlField.problem,
      throughput: ru.problem,
      ...Object.fromEntries(unique.map((text, at) => [`uniqueKeys/${at}`, uniqueKeyProblem(text)])),
    }
    const paths = pathsIn(keyText)
    return {
      problems: found,
      body: {
        ...{ api, id, defaultTtl: ttlField.defaultTtl },
        ...(paths.length > 0 && { partitionKey: paths }),
        ...(unique.length > 0 && { uniqueKeys: unique.map(pathsIn) }),
        ...(ru.throughput && { throughput: ru.throughput }),
      },
    }
  }

  const create = async (body: NewContainerBody) => {
    try {
      if (!known.some(each => each.id === databaseId)) await createDatabase(databaseId)
      await createContainer(databaseId, body)
      await reloadTree()
    } catch (error) {
      const field = fieldOf(error)
      const taken = `${databaseId} has a ${place} of this name already.`
      if (field) setProblems({ [field]: field === 'id' && isTaken(error) ? taken : messageOf(error) })
      // The database may be there now.
      await reloadTree().catch(() => {})
      throw error
    }
  }
  const send = () => {
    const { problems: found, body } = read()
    setProblems(found)
    return Object.values(found).some(Boolean) ? undefined : create(body)
  }

  return (
    <FormDialog
      title={`New ${place}`}
      width={520}
      verbs={[`Create ${place}`, 'Creating…']}
      send={send}
      isAtField={error => fieldOf(error) !== undefined}
      onSent={() => {
        onClose()
        go(addressOf({ name: 'container', database: databaseId, container: id }))
      }}
      onClose={onClose}
    >
      <Field
        label="Database"
        hint={known.some(each => each.id === databaseId) || !databaseId ? undefined : 'A new database.'}
        problem={problems.database}
      >
        <input
          class="mono"
          list="databases"
          value={databaseId}
          onInput={event => setDatabaseId(event.currentTarget.value)}
        />
      </Field>
      <datalist id="databases">
        {known.map(each => (
          <option key={each.id} value={each.id} />
        ))}
      </datalist>
      {hasMongo && (
        <Segments
          label="API"
          value={api}
          options={[
            { value: 'nosql', label: 'Cosmos DB for NoSQL' },
            { value: 'mongo', label: 'MongoDB' },
          ]}
          onChange={setApi}
        />
      )}
      <Field label={api === 'mongo' ? 'Collection' : 'Container'} problem={problems.id}>
        <input class="mono" value={id} data-autofocus onInput={event => setId(event.currentTarget.value)} />
      </Field>
      {api === 'nosql' ? (
        <Field
          label="Partition key"
          hint="One path, or up to three with commas: /tenant, /user. It cannot be changed later."
          problem={problems.partitionKey}
        >
          <input class="mono" value={key} onInput={event => setKey(event.currentTarget.value)} />
        </Field>
      ) : (
        <Field
          label="Shard key"
          hint="A field, or nothing for an unsharded collection."
          problem={problems.partitionKey}
        >
          <input class="mono" value={shardKey} onInput={event => setShardKey(event.currentTarget.value)} />
        </Field>
      )}
      {api === 'nosql' && (
        <UniqueKeyFields
          keys={uniqueKeys}
          problems={uniqueKeys.map((_, at) => problems[`uniqueKeys/${at}`])}
          onChange={setUniqueKeys}
        />
      )}
      <Segments label="Time to Live" value={ttl} options={ttlChoices} onChange={setTtl} />
      {ttl === 'on' && (
        <Field label="Items die after" hint="Seconds, or 15 m, 1 h, 7 d." problem={problems.defaultTtl}>
          <input value={ttlText} onInput={event => setTtlText(event.currentTarget.value)} />
        </Field>
      )}
      <Segments
        label="Throughput"
        value={throughputKind}
        options={[
          ...(isShareable ? [{ value: 'shared', label: 'Shared with the database' } as const] : []),
          { value: 'manual', label: 'Manual' },
          { value: 'autoscale', label: 'Autoscale' },
        ]}
        onChange={kind => {
          setProvision(kind)
          if (kind !== 'shared') setRuText(leastText(kind, ruText))
        }}
      />
      {throughputKind !== 'shared' && (
        <Field
          label={ruLabel[throughputKind]}
          hint={throughputHint(throughputKind)}
          problem={problems.throughput}
          unit={<span class="t3 fs12">RU/s</span>}
        >
          <input inputMode="numeric" value={ruText} onInput={event => setRuText(event.currentTarget.value)} />
        </Field>
      )}
    </FormDialog>
  )
}
