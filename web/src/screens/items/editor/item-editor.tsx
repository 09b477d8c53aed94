/** The editor of an item's text: CodeMirror, loaded when the first one is shown. */

import { useEffect, useRef } from 'preact/hooks'
import type { Api } from '../../../api/shapes.ts'
import type { EditorHandle } from '../../../components/code/setup.ts'
import type { Beside } from './item-extensions.ts'

/** What the pane may ask of the editor once it is there. */
export interface ItemEditorHandle extends EditorHandle {
  showBeside: (beside: Beside) => void
  showRefusal: (message: string, line: number, column: number) => void
}

interface ItemEditorProps {
  text: string
  api: Api
  label: string
  isReadOnly: boolean
  beside: Beside
  onChange: (text: string) => void
  onReady: (editor: ItemEditorHandle | undefined) => void
}

export function ItemEditor({ text, api, label, isReadOnly, beside, onChange, onReady }: ItemEditorProps) {
  const root = useRef<HTMLDivElement>(null)
  const editor = useRef<ItemEditorHandle | undefined>(undefined)
  const now = useRef({ text, beside, onChange, isReadOnly })
  now.current = { text, beside, onChange, isReadOnly }
  useEffect(() => {
    let isWanted = true
    void Promise.all([import('../../../components/code/setup.ts'), import('./item-extensions.ts')]).then(
      ([{ createEditor }, extensions]) => {
        if (!isWanted) return
        const handle = createEditor({
          parent: root.current!,
          text: now.current.text,
          label,
          isReadOnly: now.current.isReadOnly,
          extensions: [extensions.itemExtensions(api)],
          onChange: next => now.current.onChange(next),
        })
        editor.current = {
          ...handle,
          showBeside: next => handle.view.dispatch({ effects: extensions.setBeside.of(next) }),
          showRefusal: (message, line, column) => extensions.showRefusal(handle.view, message, line, column),
        }
        editor.current.showBeside(now.current.beside)
        onReady(editor.current)
      },
    )
    return () => {
      isWanted = false
      editor.current?.destroy()
      editor.current = undefined
      onReady(undefined)
    }
  }, [])
  useEffect(() => {
    editor.current?.showBeside(beside)
  }, [
    beside.stored,
    beside.ttlHint?.text,
    beside.ttlHint?.tone,
    beside.isSystemOpen,
    beside.writtenHint,
    String(beside.system),
  ])
  useEffect(() => editor.current?.setReadOnly(isReadOnly), [isReadOnly])
  return <div class={isReadOnly ? 'editor is-read-only' : 'editor'} ref={root} />
}
