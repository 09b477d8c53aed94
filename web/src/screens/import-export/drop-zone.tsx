/** Takes a file that is dropped anywhere on the page of a container. */

import { useEffect, useState } from 'preact/hooks'
import type { Container, ContainerName } from '../../api/shapes.ts'
import { Icon } from '../../components/icon.tsx'
import { showToast } from '../../components/toasts.tsx'
import { mayWrite } from '../../live/server-state.ts'
import './import.css'

interface DropZoneProps {
  name: ContainerName
  container: Container
}

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes('Files') ?? false

export function DropZone({ name, container }: DropZoneProps) {
  const [isOver, setOver] = useState(false)
  useEffect(() => {
    // Each element that the pointer crosses says enter and leave; the last one out counts.
    let depth = 0
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      depth += 1
      setOver(true)
    }
    const over = (event: DragEvent) => {
      if (hasFiles(event)) event.preventDefault()
    }
    const leave = (event: DragEvent) => {
      if (!hasFiles(event)) return
      depth -= 1
      if (depth <= 0) setOver(false)
    }
    const drop = (event: DragEvent) => {
      if (!hasFiles(event)) return
      event.preventDefault()
      depth = 0
      setOver(false)
      const files = [...(event.dataTransfer?.files ?? [])]
      if (!mayWrite.peek()) showToast({ kind: 'failed', title: 'This key may only read.' })
      else if (files.length !== 1) {
        showToast({ kind: 'failed', title: 'Drop one file.', text: `These are ${files.length}. Nothing was written.` })
      } else
        void import('./import-dialog.tsx').then(dialog => dialog.openImport({ name, api: container.api }, files[0]))
    }
    addEventListener('dragenter', enter)
    addEventListener('dragover', over)
    addEventListener('dragleave', leave)
    addEventListener('drop', drop)
    return () => {
      removeEventListener('dragenter', enter)
      removeEventListener('dragover', over)
      removeEventListener('dragleave', leave)
      removeEventListener('drop', drop)
    }
  }, [name.database, name.container, container.api])
  if (!isOver) return null
  return (
    <div class="drop-over">
      <div class="dropzone">
        <span class="t2">
          <Icon name="import" />
        </span>
        <b>
          Drop to import into {name.database} / {name.container}
        </b>
        <span class="t2">One file. You choose how before anything is written.</span>
      </div>
    </div>
  )
}
