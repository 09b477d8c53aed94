/** The popover that chooses the columns: facts of every item, and paths that sampled items have. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Completion, Container } from '../../api/shapes.ts'
import { Icon } from '../../components/icon.tsx'
import { type ColumnChoice, choosablePaths, columnsOf, pathName, pathOf, pathsMax } from './columns.ts'

interface ColumnChooserProps {
  container: Container
  completion: Completion | undefined
  choice: ColumnChoice
  onChoice: (choice: ColumnChoice) => void
}

export function ColumnChooser({ container, completion, choice, onChoice }: ColumnChooserProps) {
  const [isOpen, setOpen] = useState(false)
  const [text, setText] = useState('')
  const [problem, setProblem] = useState<string>()
  const root = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    if (!isOpen) return
    root.current?.querySelector<HTMLElement>('.popover input')?.focus()
    const closeOutside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', closeOutside)
    return () => document.removeEventListener('pointerdown', closeOutside)
  }, [isOpen])
  const fixed = columnsOf(container, []).map(({ name }) => name)
  const sampled = completion ? choosablePaths(completion, container).map(pathOf) : []
  const paths = [...new Set([...choice.paths, ...sampled])]
  const isFull = choice.paths.length >= pathsMax
  const toggleFixed = (name: string) => {
    const hidden = choice.hidden.includes(name) ? choice.hidden.filter(each => each !== name) : [...choice.hidden, name]
    onChoice({ ...choice, hidden })
  }
  const togglePath = (path: string) => {
    const isShown = choice.paths.includes(path)
    if (!isShown && isFull) return
    onChoice({ ...choice, paths: isShown ? choice.paths.filter(each => each !== path) : [...choice.paths, path] })
  }
  const add = (event: Event) => {
    event.preventDefault()
    const dotted = text.trim().replace(/^c\./, '').replace(/^\//, '').replaceAll('/', '.')
    if (!/^[^.[\]]+(\.[^.[\]]+|\[\d+\])*$/.test(dotted)) {
      setProblem('Write a path as device.os or cart[0].sku.')
      return
    }
    if (isFull) {
      setProblem(`At most ${pathsMax} columns of your own.`)
      return
    }
    setProblem(undefined)
    setText('')
    if (!choice.paths.includes(pathOf(dotted))) togglePath(pathOf(dotted))
  }
  const closeByKey = (event: KeyboardEvent) => {
    if (event.key !== 'Escape' || !isOpen) return
    event.stopPropagation()
    setOpen(false)
    root.current?.querySelector('button')?.focus()
  }
  return (
    <span class="menu-root hide-m" ref={root}>
      <button
        type="button"
        class="icon"
        aria-label="Choose columns"
        title="Choose columns"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
        onKeyDown={closeByKey}
      >
        <Icon name="columns" />
      </button>
      {isOpen && (
        <div
          class="popover column-list"
          role="dialog"
          aria-label="Columns"
          onFocusOut={({ relatedTarget: next }) => {
            if (next && !root.current?.contains(next as Node)) setOpen(false)
          }}
          onKeyDown={closeByKey}
        >
          <p class="label">Facts</p>
          {fixed.map(name => (
            <label key={name} class="check">
              <input type="checkbox" checked={!choice.hidden.includes(name)} onChange={() => toggleFixed(name)} />
              {name}
            </label>
          ))}
          <p class="label">Paths{completion && `, from ${completion.sampled} sampled items`}</p>
          <div class="column-paths">
            {paths.map(path => (
              <label key={path} class="check mono">
                <input
                  type="checkbox"
                  checked={choice.paths.includes(path)}
                  disabled={isFull && !choice.paths.includes(path)}
                  onChange={() => togglePath(path)}
                />
                {pathName(path)}
              </label>
            ))}
          </div>
          <form onSubmit={add}>
            <span class={problem ? 'field soft bad' : 'field soft'}>
              <input
                class="mono"
                aria-label="Another path"
                placeholder="another.path"
                value={text}
                aria-invalid={problem ? 'true' : undefined}
                onInput={event => setText(event.currentTarget.value)}
              />
              <button type="submit" class="link fs12">
                Add
              </button>
            </span>
            {problem && (
              <span class="danger field-about" role="alert">
                {problem}
              </span>
            )}
          </form>
        </div>
      )}
    </span>
  )
}
