/** The form for a new container or collection, in a database that is there or a new one. */

import { useState } from 'preact/hooks'
import { createContainer, createDatabase, type NewContainer as NewContainerBody } from '../api/calls.ts'
import { ApiError } from '../api/client.ts'
import type { Api } from '../api/shapes.ts'
import { Dialog } from '../components/dialog.tsx'
import { Field } from '../components/field.tsx'
import { Refusal } from '../components/refusal.tsx'
import { Segments } from '../components/segments.tsx'
import { databases, reloadTree, session } from '../live/store.ts'
import { idProblem, keyProblem, readTtlField, type TtlChoice } from './new-container-rules.ts'
import { go } from './router.ts'
import { addressOf } from './routes.ts'

const ttlChoices: readonly { value: TtlChoice; label: string }[] = [
  { value: 'off', label: 'Off' },
  { value: 'no default', label: 'On (no default)' },
  { value: 'on', label: 'On' },
]

/** Which field an error of the server is about. */
type Problems = Partial<Record<'database' | 'id' | 'key' | 'ttl', string>>

function fieldOf(error: unknown): keyof Problems | undefined {
  if (!(error instanceof ApiError)) return undefined
  if (error.code === 'already_exists') return 'id'
  const names: Readonly<Record<string, keyof Problems>> = { id: 'id', partitionKey: 'key', defaultTtl: 'ttl' }
  return error.field === undefined ? undefined : names[error.field]
}

export function NewContainer({ database, onClose }: { database?: string; onClose: () => void }) {
  const known = databases.value ?? []
  const [databaseId, setDatabaseId] = useState(database ?? known[0]?.id ?? '')
  const [api, setApi] = useState<Api>('nosql')
  const [id, setId] = useState('')
  const [key, setKey] = useState('/id')
  const [shardKey, setShardKey] = useState('')
  const [ttl, setTtl] = useState<TtlChoice>('on')
  const [ttlText, setTtlText] = useState('1 h')
  const [problems, setProblems] = useState<Problems>({})
  const [error, setError] = useState<unknown>()
  const [isSaving, setSaving] = useState(false)
  const hasMongo = Boolean(session.value?.mongoUri)
  const place = api === 'mongo' ? 'collection' : 'container'

  const read = (): { problems: Problems; body: NewContainerBody } => {
    const ttlField = readTtlField(ttl, ttlText)
    const keyText = api === 'mongo' ? shardKey : key
    const found: Problems = {
      database: idProblem(databaseId),
      id: idProblem(id),
      key: keyProblem(api, keyText),
      ttl: ttlField.problem,
    }
    const paths = keyText
      .split(',')
      .map(part => part.trim())
      .filter(Boolean)
    return {
      problems: found,
      body: { api, id, ...(paths.length > 0 && { partitionKey: paths }), defaultTtl: ttlField.defaultTtl },
    }
  }

  const save = async (event: Event) => {
    event.preventDefault()
    const { problems: found, body } = read()
    setProblems(found)
    setError(undefined)
    if (Object.values(found).some(Boolean)) return
    setSaving(true)
    try {
      if (!known.some(each => each.id === databaseId)) await createDatabase(databaseId)
      await createContainer(databaseId, body)
      await reloadTree()
      onClose()
      go(addressOf({ name: 'container', database: databaseId, container: id }))
    } catch (thrown) {
      const field = fieldOf(thrown)
      if (field) setProblems({ [field]: (thrown as Error).message })
      else setError(thrown)
      await reloadTree().catch(() => {})
      setSaving(false)
    }
  }

  return (
    <Dialog
      title={`New ${place}`}
      onClose={onClose}
      width={520}
      footer={
        <>
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" form="new-container" class="btn pri" disabled={isSaving}>
            Create {place}
          </button>
        </>
      }
    >
      <form id="new-container" class="form" onSubmit={save} noValidate>
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
            problem={problems.key}
          >
            <input class="mono" value={key} onInput={event => setKey(event.currentTarget.value)} />
          </Field>
        ) : (
          <Field label="Shard key" hint="A field, or nothing for an unsharded collection." problem={problems.key}>
            <input class="mono" value={shardKey} onInput={event => setShardKey(event.currentTarget.value)} />
          </Field>
        )}
        <Segments label="Time to Live" value={ttl} options={ttlChoices} onChange={setTtl} />
        {ttl === 'on' && (
          <Field label="Items die after" hint="Seconds, or 15 m, 1 h, 7 d." problem={problems.ttl}>
            <input value={ttlText} onInput={event => setTtlText(event.currentTarget.value)} />
          </Field>
        )}
        {error !== undefined && <Refusal error={error} />}
      </form>
    </Dialog>
  )
}
