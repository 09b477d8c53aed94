/** The dialog of an export: the format, which rows, and a download that the browser saves by itself. */

import { useState } from 'preact/hooks'
import type { Container, ContainerName } from '../../api/shapes.ts'
import { Field } from '../../components/field.tsx'
import { FormDialog } from '../../components/form-dialog.tsx'
import { fieldText } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import type { QueryText } from '../../containers/query-text.ts'
import { type ExportFormat, saveRows } from '../../containers/save-rows.ts'
import { countedItems } from '../../containers/words.ts'
import { showDialog } from '../../navigation/dialogs.ts'
import './import.css'

interface Target {
  name: ContainerName
  container: Container
}

export const openExport = (target: Target) => showDialog(close => <ExportDialog {...target} onClose={close} />)

const formats = [
  { value: 'jsonl', label: 'JSON Lines', text: 'One item on each line. Comes back by an import as it was.' },
  { value: 'json', label: 'JSON', text: 'One array. Comes back by an import as it was.' },
  { value: 'csv', label: 'CSV', text: 'A table for people and spreadsheets. Types of values and lives are lost.' },
] as const

function queryOf(text: string, isMongo: boolean): QueryText | undefined {
  if (text === '') return undefined
  if (!isMongo) return { kind: 'sql', text }
  return text.startsWith('[') ? { kind: 'pipeline', text } : { kind: 'filter', text, sort: '', projection: '' }
}

function ExportDialog({ name, container, onClose }: Target & { onClose: () => void }) {
  const [format, setFormat] = useState<ExportFormat>('jsonl')
  const [query, setQuery] = useState('')
  const [problem, setProblem] = useState<string>()
  const isMongo = container.api === 'mongo'
  const { label, text } = formats.find(({ value }) => value === format)!
  const save = async () => {
    setProblem(undefined)
    try {
      await saveRows(name, format, queryOf(query.trim(), isMongo))
    } catch (error) {
      setProblem(fieldText(error))
      throw error
    }
  }
  return (
    <FormDialog
      title={`Export ${name.database} / ${name.container}`}
      width={560}
      verbs={[`Save as ${label}`, 'Checking the query…']}
      send={save}
      isAtField={() => true}
      onSent={onClose}
      onClose={onClose}
    >
      <div class="import-choices">
        <div>
          <Segments label="Format" value={format} options={formats} onChange={setFormat} />
          <p>{text}</p>
        </div>
      </div>
      <Field
        label={isMongo ? 'Only documents that match, or a pipeline' : 'Only what this query answers'}
        hint={query.trim() === '' ? `All ${countedItems(container.living, container.api)}` : undefined}
        {...(problem !== undefined && { problem })}
      >
        <input
          class="mono"
          autocomplete="off"
          spellcheck={false}
          placeholder={isMongo ? '{"status": "open"}' : 'SELECT * FROM c WHERE …'}
          value={query}
          onInput={event => {
            setQuery(event.currentTarget.value)
            setProblem(undefined)
          }}
        />
      </Field>
    </FormDialog>
  )
}
