/**
 * What the editor of an item shows beside its text: what the ttl means, which lines changed, the system
 * properties, and what is wrong.
 */

import { json } from '@codemirror/lang-json'
import { syntaxTree } from '@codemirror/language'
import { type Diagnostic, linter, setDiagnostics } from '@codemirror/lint'
import { type EditorState, type Extension, StateEffect, StateField, type Text } from '@codemirror/state'
import { Decoration, type DecorationSet, EditorView, WidgetType } from '@codemirror/view'
import type { SyntaxNode } from '@lezer/common'
import { checkItemText } from './item-text.ts'
import { changedLines } from './line-diff.ts'

/** A hint behind a line. */
export interface Hint {
  text: string
  tone: 'life' | 'danger' | 'never' | 'plain'
}

/** Everything that stands beside the text; the pane sends it whenever it changes. */
export interface Beside {
  /** The text as it is stored: lines that differ are marked. */
  stored: string
  ttlHint: Hint | undefined
  /** In order, as `name: value`; empty for Mongo. */
  system: readonly (readonly [string, string])[]
  isSystemOpen: boolean
  onSystem: () => void
  /** Behind `_ts`. */
  writtenHint: string
  /** The property that cannot be changed: `_id`. */
  lockedName: string | undefined
}

export const setBeside = StateEffect.define<Beside>()

const hintClass: Readonly<Record<Hint['tone'], string>> = {
  life: 'hint',
  danger: 'hint d',
  never: 'hint ng',
  plain: 'hint g',
}

class HintWidget extends WidgetType {
  readonly hint: Hint
  constructor(hint: Hint) {
    super()
    this.hint = hint
  }
  override eq(other: HintWidget): boolean {
    return other.hint.text === this.hint.text && other.hint.tone === this.hint.tone
  }
  override toDOM(): HTMLElement {
    const element = document.createElement('span')
    element.className = hintClass[this.hint.tone]
    element.textContent = this.hint.text
    return element
  }
}

class SystemWidget extends WidgetType {
  readonly beside: Beside
  constructor(beside: Beside) {
    super()
    this.beside = beside
  }
  override eq({ beside }: SystemWidget): boolean {
    return (
      beside.isSystemOpen === this.beside.isSystemOpen &&
      beside.writtenHint === this.beside.writtenHint &&
      String(beside.system) === String(this.beside.system)
    )
  }
  override ignoreEvent(): boolean {
    return true
  }
  override toDOM(): HTMLElement {
    const { system, isSystemOpen, onSystem, writtenHint } = this.beside
    const root = document.createElement('div')
    root.className = 'system'
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'fold'
    button.textContent = `${isSystemOpen ? '⌄' : '›'} ${system.length} system properties, read-only`
    button.setAttribute('aria-expanded', String(isSystemOpen))
    button.onclick = onSystem
    root.append(button)
    if (!isSystemOpen) return root
    for (const [name, value] of system) {
      const line = document.createElement('div')
      line.className = 'system-line'
      line.textContent = `"${name}": ${value}`
      if (name === '_ts') {
        const hint = document.createElement('span')
        hint.className = 'hint g'
        hint.textContent = writtenHint
        line.append(hint)
      }
      root.append(line)
    }
    return root
  }
}

/** The properties of the item itself, not those of objects within it. */
function rootProperties(state: EditorState): { name: string; node: SyntaxNode }[] {
  const root = syntaxTree(state).topNode.getChild('Object')
  return (root?.getChildren('Property') ?? []).flatMap(node => {
    const name = node.getChild('PropertyName')
    return name ? [{ name: state.sliceDoc(name.from + 1, name.to - 1), node }] : []
  })
}

const endOfLine = (doc: Text, at: number) => doc.lineAt(at).to
const changedLine = Decoration.line({ class: 'cm-changed' })
const ttlLine = Decoration.mark({ class: 'cm-ttl' })

function decorate(state: EditorState, beside: Beside): DecorationSet {
  const { doc } = state
  const ranges = changedLines(beside.stored, doc.toString()).lines.map(line =>
    changedLine.range(doc.line(line + 1).from),
  )
  const properties = rootProperties(state)
  const ttl = properties.find(({ name }) => name === 'ttl')
  const last = properties.at(-1)
  if (ttl) {
    const name = ttl.node.getChild('PropertyName')!
    ranges.push(ttlLine.range(name.from, name.to))
  }
  const hintAt = ttl ?? last
  if (beside.ttlHint && hintAt) {
    const widget = new HintWidget(beside.ttlHint)
    ranges.push(Decoration.widget({ widget, side: 1 }).range(endOfLine(doc, hintAt.node.to)))
  }
  const locked = properties.find(({ name }) => name === beside.lockedName)
  if (locked) {
    const widget = new HintWidget({ text: 'cannot be changed', tone: 'plain' })
    ranges.push(Decoration.widget({ widget, side: 1 }).range(endOfLine(doc, locked.node.to)))
  }
  const close = doc.lines > 1 ? doc.line(doc.lines) : undefined
  if (beside.system.length > 0 && close) {
    const widget = new SystemWidget(beside)
    ranges.push(Decoration.widget({ widget, side: -1, block: true }).range(close.from))
  }
  return Decoration.set(ranges, true)
}

const besideField = StateField.define<{ beside: Beside | undefined; shown: DecorationSet }>({
  create: () => ({ beside: undefined, shown: Decoration.none }),
  update: (value, transaction) => {
    const told = transaction.effects.findLast(effect => effect.is(setBeside))?.value as Beside | undefined
    const beside = told ?? value.beside
    const isParsed = syntaxTree(transaction.state) !== syntaxTree(transaction.startState)
    if (!beside || (!told && !transaction.docChanged && !isParsed)) return value
    return { beside, shown: decorate(transaction.state, beside) }
  },
  provide: field => EditorView.decorations.from(field, value => value.shown),
})

/** What is wrong with the text, before the server is asked. */
function lint(api: 'nosql' | 'mongo') {
  return (view: EditorView): Diagnostic[] =>
    checkItemText(view.state.doc.toString(), api).map(({ from, to, message, severity }) => ({
      from: Math.min(from, view.state.doc.length),
      to: Math.min(to, view.state.doc.length),
      severity,
      message,
    }))
}

/** Shows a refusal of the server at its place. */
export function showRefusal(view: EditorView, message: string, line: number, column: number): void {
  const { doc } = view.state
  const at = doc.line(Math.max(1, Math.min(doc.lines, line)))
  const from = Math.min(at.to, at.from + Math.max(0, column - 1))
  view.dispatch(setDiagnostics(view.state, [{ from, to: at.to, severity: 'error', message }]))
  view.dispatch({ selection: { anchor: from }, scrollIntoView: true })
}

export function itemExtensions(api: 'nosql' | 'mongo'): Extension {
  return [json(), linter(lint(api), { delay: 250 }), besideField]
}
