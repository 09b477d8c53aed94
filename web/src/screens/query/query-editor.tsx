/** The editor of a query: CodeMirror, loaded when the first one is shown. */

import { useEffect, useRef } from 'preact/hooks'
import type { Api, Completion } from '../../api/shapes.ts'
import type { EditorHandle } from '../../components/code/setup.ts'

export interface QueryProblem {
  message: string
  line: number
  column: number
}

interface QueryEditorProps {
  text: string
  /** Counts how often the screen itself wrote the text: formatted, or from the history. */
  written: number
  api: Api
  label: string
  completion: Completion | undefined
  problem: QueryProblem | undefined
  onChange: (text: string) => void
  onRun: () => void
  onCancel: () => void
}

type Extensions = typeof import('./query-extensions.ts')

export function QueryEditor({
  text,
  written,
  api,
  label,
  completion,
  problem,
  onChange,
  onRun,
  onCancel,
}: QueryEditorProps) {
  const root = useRef<HTMLDivElement>(null)
  const editor = useRef<{ handle: EditorHandle; extensions: Extensions } | undefined>(undefined)
  const now = useRef({ text, completion, problem, onChange, onRun, onCancel })
  now.current = { text, completion, problem, onChange, onRun, onCancel }
  useEffect(() => {
    let isWanted = true
    void Promise.all([import('../../components/code/setup.ts'), import('./query-extensions.ts')]).then(
      ([{ createEditor }, extensions]) => {
        if (!isWanted) return
        const keys = { run: () => now.current.onRun(), cancel: () => now.current.onCancel() }
        const handle = createEditor({
          parent: root.current!,
          text: now.current.text,
          label,
          extensions: [extensions.queryExtensions(api, now.current.completion, keys)],
          onChange: next => now.current.onChange(next),
        })
        editor.current = { handle, extensions }
        handle.view.dispatch({ selection: { anchor: handle.view.state.doc.length } })
        if (matchMedia('(min-width: 900px)').matches) handle.view.focus()
      },
    )
    return () => {
      isWanted = false
      editor.current?.handle.destroy()
      editor.current = undefined
    }
  }, [])
  // What is typed comes from the editor; only what the screen writes goes into it.
  useEffect(() => editor.current?.handle.setText(now.current.text), [written])
  useEffect(() => {
    if (completion && editor.current)
      editor.current.extensions.setCompletion(editor.current.handle.view, api, completion)
  }, [completion])
  useEffect(() => {
    if (editor.current) editor.current.extensions.markProblem(editor.current.handle.view, problem)
  }, [problem])
  return <div class="editor" ref={root} />
}
