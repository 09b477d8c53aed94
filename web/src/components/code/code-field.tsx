/** An editor for a text of code, which is loaded when it is shown. */

import { useEffect, useRef, useState } from 'preact/hooks'
import { CodeView } from '../code-view.tsx'
import type { EditedLanguage } from './languages.ts'
import type { EditorHandle } from './setup.ts'

interface CodeFieldProps {
  text: string
  language: EditedLanguage
  label: string
  isReadOnly?: boolean
  onChange: (text: string) => void
  /** What the server refused, and where. */
  refusal?: { message: string; line?: number; column?: number }
}

export function CodeField({ text, language, label, isReadOnly = false, onChange, refusal }: CodeFieldProps) {
  const root = useRef<HTMLDivElement>(null)
  const handle = useRef<EditorHandle | undefined>(undefined)
  const [mark, setMark] = useState<typeof import('./languages.ts').markRefusal>()
  const typed = useRef([text])
  const now = useRef({ text, onChange, isReadOnly })
  now.current = { text, onChange, isReadOnly }
  useEffect(() => {
    let isWanted = true
    void Promise.all([import('./setup.ts'), import('./languages.ts')]).then(([setup, languages]) => {
      if (!isWanted) return
      handle.current = setup.createEditor({
        parent: root.current!,
        text: now.current.text,
        label,
        isReadOnly: now.current.isReadOnly,
        extensions: [languages.languageOf(language)],
        onChange: next => {
          typed.current.push(next)
          now.current.onChange(next)
        },
      })
      setMark(() => languages.markRefusal)
    })
    return () => {
      isWanted = false
      handle.current?.destroy()
      handle.current = undefined
    }
  }, [language, label])
  useEffect(() => {
    // What was typed here comes back late, when more of it has been typed already.
    const at = typed.current.lastIndexOf(text)
    if (at === -1) handle.current?.setText(text)
    typed.current = at === -1 ? [text] : typed.current.slice(at)
  }, [text])
  useEffect(() => handle.current?.setReadOnly(isReadOnly), [isReadOnly, mark])
  useEffect(() => {
    if (refusal && mark && handle.current) mark(handle.current.view, refusal.message, refusal.line, refusal.column)
  }, [refusal, mark])
  return (
    <div class="code-field" ref={root}>
      {/* What is there before the editor has come. */}
      {!mark && <CodeView text={text} language={language} label={label} />}
    </div>
  )
}
