/** The dialog of an export: the format, and a download that the browser saves by itself. */

import { useState } from 'preact/hooks'
import { exportAddress } from '../../api/container-calls.ts'
import type { Container, ContainerName } from '../../api/shapes.ts'
import { showDialog } from '../../app/dialogs.ts'
import { countedItems } from '../../app/words.ts'
import { Dialog } from '../../components/dialog.tsx'
import { Field } from '../../components/field.tsx'
import { Icon } from '../../components/icon.tsx'
import { Segments } from '../../components/segments.tsx'
import './import.css'

interface Target {
  name: ContainerName
  container: Container
}

export const openExport = (target: Target) => showDialog(close => <ExportDialog {...target} onClose={close} />)

const formats = [
  { value: 'jsonl', label: 'JSON Lines', text: 'One item on each line. Comes back by an import as it was.' },
  { value: 'json', label: 'JSON', text: 'One array. Comes back by an import as it was.' },
  { value: 'csv', label: 'CSV', text: 'A table for people and spreadsheets. Types of values are lost.' },
] as const

function ExportDialog({ name, container, onClose }: Target & { onClose: () => void }) {
  const [format, setFormat] = useState<(typeof formats)[number]['value']>('jsonl')
  const [query, setQuery] = useState('')
  const isMongo = container.api === 'mongo'
  const file = `${name.database}-${name.container}.${format}`
  const address = exportAddress(name, { format, [isMongo ? 'filter' : 'query']: query.trim() })
  return (
    <Dialog
      title={`Export ${name.database} / ${name.container}`}
      width={560}
      onClose={onClose}
      footer={
        <>
          <button type="button" class="btn" onClick={onClose}>
            Cancel
          </button>
          <a class="btn pri" href={address} download={file} data-test="export" onClick={() => setTimeout(onClose)}>
            <Icon name="export" />
            Save as {file}
          </a>
        </>
      }
    >
      <div class="import-body import-choices">
        <div>
          <Segments label="Format" value={format} options={formats} onChange={setFormat} />
          <p>{formats.find(({ value }) => value === format)!.text}</p>
        </div>
        <Field
          label={isMongo ? 'Only documents that match' : 'Only what this query answers'}
          hint={query.trim() === '' ? `All ${countedItems(container.living, container.api)}` : undefined}
        >
          <input
            class="mono"
            autocomplete="off"
            spellcheck={false}
            placeholder={isMongo ? '{"status": "open"}' : 'SELECT * FROM c WHERE …'}
            value={query}
            onInput={event => setQuery(event.currentTarget.value)}
          />
        </Field>
      </div>
    </Dialog>
  )
}
