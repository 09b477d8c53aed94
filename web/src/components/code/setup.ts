/**
 * CodeMirror as the page uses it: keys, colours, line numbers. Loaded when the first editor is shown.
 *
 * Its styles become an adopted style sheet (web/vite.config.js), as the content security policy asks.
 */

import { closeBrackets, closeBracketsKeymap, completionKeymap } from '@codemirror/autocomplete'
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands'
import { bracketMatching, HighlightStyle, indentOnInput, syntaxHighlighting } from '@codemirror/language'
import { lintKeymap } from '@codemirror/lint'
import { highlightSelectionMatches, searchKeymap } from '@codemirror/search'
import { Annotation, Compartment, EditorState, type Extension } from '@codemirror/state'
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  highlightActiveLineGutter,
  highlightSpecialChars,
  keymap,
  lineNumbers,
} from '@codemirror/view'
import { tags } from '@lezer/highlight'

const colours = HighlightStyle.define([
  { tag: tags.propertyName, color: 'var(--text-1)' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: 'var(--syn-string)' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: 'var(--syn-number)' },
  { tag: [tags.keyword, tags.operatorKeyword, tags.definitionKeyword, tags.typeName], color: 'var(--syn-keyword)' },
  {
    tag: [tags.function(tags.variableName), tags.function(tags.propertyName), tags.standard(tags.name)],
    color: 'var(--syn-func)',
  },
  { tag: tags.comment, color: 'var(--syn-comment)', fontStyle: 'italic' },
  { tag: [tags.punctuation, tags.separator, tags.bracket], color: 'var(--text-2)' },
  { tag: tags.invalid, color: 'var(--danger)' },
])

const look = EditorView.theme({
  '&': { height: '100%', fontSize: '12.5px', backgroundColor: 'var(--bg-1)', color: 'var(--text-1)' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--font-mono)', lineHeight: '20px', fontVariantLigatures: 'none' },
  '.cm-content': { padding: '8px 0', caretColor: 'var(--text-1)' },
  '.cm-line': { padding: '0 12px 0 6px' },
  '.cm-gutters': { backgroundColor: 'var(--bg-1)', color: 'var(--text-3)', border: 'none', fontSize: '11.5px' },
  '.cm-lineNumbers .cm-gutterElement': { minWidth: '34px', padding: '0 8px 0 4px' },
  '.cm-activeLine': { backgroundColor: 'var(--bg-2)' },
  '.cm-activeLineGutter': { backgroundColor: 'var(--bg-2)', color: 'var(--text-2)' },
  '&:not(.cm-focused) .cm-activeLine, &:not(.cm-focused) .cm-activeLineGutter': { backgroundColor: 'transparent' },
  '.cm-cursor': { borderLeftColor: 'var(--text-1)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': {
    backgroundColor: 'color-mix(in srgb, var(--info-bar) 32%, transparent)',
  },
  '.cm-selectionMatch': { backgroundColor: 'var(--bg-3)' },
  '.cm-matchingBracket, &.cm-focused .cm-matchingBracket': { backgroundColor: 'var(--bg-3)', color: 'inherit' },
  '.cm-tooltip': {
    backgroundColor: 'var(--bg-1)',
    border: '1px solid var(--line-2)',
    borderRadius: 'var(--r-2)',
    boxShadow: 'var(--shadow-2)',
    color: 'var(--text-1)',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul': {
    fontFamily: 'var(--font-ui)',
    fontSize: '12px',
    maxHeight: '260px',
    padding: '4px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li': {
    display: 'flex',
    gap: '14px',
    alignItems: 'center',
    minWidth: '260px',
    padding: '3px 8px',
    borderRadius: '4px',
  },
  '.cm-tooltip.cm-tooltip-autocomplete > ul > li[aria-selected]': {
    backgroundColor: 'var(--bg-3)',
    color: 'var(--text-1)',
  },
  '.cm-completionLabel': { fontFamily: 'var(--font-mono)', flex: '1' },
  '.cm-completionMatchedText': { textDecoration: 'none', fontWeight: '700' },
  '.cm-completionDetail': { color: 'var(--text-2)', fontStyle: 'normal', marginLeft: '0' },
  '.cm-completionInfo': { fontFamily: 'var(--font-ui)', fontSize: '12px', color: 'var(--text-2)' },
  '.cm-diagnostic': { fontFamily: 'var(--font-ui)', fontSize: '12px', padding: '6px 10px' },
  '.cm-diagnostic-error': { borderLeft: '3px solid var(--danger-bar)' },
  '.cm-diagnostic-warning': { borderLeft: '3px solid var(--life-bar)' },
  '.cm-lintRange-error': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--danger-bar) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-lintRange-warning': {
    backgroundImage: 'none',
    textDecoration: 'underline wavy var(--life-bar) 1px',
    textUnderlineOffset: '3px',
  },
  '.cm-panels': { backgroundColor: 'var(--bg-2)', color: 'var(--text-1)', fontFamily: 'var(--font-ui)' },
  '.cm-panels.cm-panels-bottom': { borderTop: '1px solid var(--line-1)' },
  '.cm-textfield': {
    backgroundColor: 'var(--bg-1)',
    border: '1px solid var(--line-3)',
    borderRadius: 'var(--r-2)',
    fontSize: '12px',
  },
  '.cm-button': {
    backgroundImage: 'none',
    backgroundColor: 'var(--bg-1)',
    border: '1px solid var(--line-2)',
    borderRadius: 'var(--r-2)',
    color: 'var(--text-1)',
    fontSize: '12px',
  },
})

export interface EditorHandle {
  view: EditorView
  /** Replaces the text, for instance by a newer version of the item. */
  setText: (text: string) => void
  setReadOnly: (isReadOnly: boolean) => void
  destroy: () => void
}

export interface EditorOptions {
  parent: HTMLElement
  text: string
  /** Says to people who listen what is edited. */
  label: string
  extensions?: readonly Extension[]
  isReadOnly?: boolean
  /** What a person changed. */
  onChange?: (text: string) => void
}

/** Pairs that the editor closes. Typed over a selection, they are put around it. */
const opening = /^[([{'"]$/

/**
 * Text typed over a selection. The browser would give the text a style of its own, which the content
 * security policy refuses with an error; CodeMirror would then read the text back.
 */
function typeOver(event: InputEvent, view: EditorView): boolean {
  const { state } = view
  const { from, to } = state.selection.main
  const isText = event.inputType === 'insertText' && event.data !== null && !event.isComposing
  if (!isText || state.readOnly || from === to || opening.test(event.data)) return false
  event.preventDefault()
  view.dispatch(state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true })
  return true
}

function readOnly(isReadOnly: boolean): Extension {
  return [EditorState.readOnly.of(isReadOnly), EditorView.editable.of(true)]
}

/** Marks a text that the page has set. It is not reported as an edit: by then there may be a newer text. */
const isGiven = Annotation.define<boolean>()

export function createEditor({
  parent,
  text,
  label,
  extensions = [],
  isReadOnly = false,
  onChange,
}: EditorOptions): EditorHandle {
  const writing = new Compartment()
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        // First, so that the keys of a screen win over CodeMirror's.
        ...extensions,
        lineNumbers(),
        highlightActiveLine(),
        highlightActiveLineGutter(),
        highlightSpecialChars(),
        history(),
        drawSelection(),
        indentOnInput(),
        bracketMatching(),
        closeBrackets(),
        highlightSelectionMatches(),
        EditorState.tabSize.of(2),
        EditorView.lineWrapping,
        syntaxHighlighting(colours),
        look,
        EditorView.contentAttributes.of({ 'aria-label': label }),
        EditorView.domEventHandlers({ beforeinput: typeOver }),
        keymap.of([
          ...closeBracketsKeymap,
          ...completionKeymap,
          ...lintKeymap,
          ...searchKeymap,
          ...historyKeymap,
          // Tab is not among them: it leaves the editor, so nobody is caught in it.
          ...defaultKeymap,
        ]),
        writing.of(readOnly(isReadOnly)),
        EditorView.updateListener.of(update => {
          const isTyped = update.transactions.every(transaction => transaction.annotation(isGiven) !== true)
          if (update.docChanged && isTyped) onChange?.(update.state.doc.toString())
        }),
      ],
    }),
  })
  return {
    view,
    setText: next => {
      if (next === view.state.doc.toString()) return
      view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: next }, annotations: isGiven.of(true) })
    },
    setReadOnly: isOn => view.dispatch({ effects: writing.reconfigure(readOnly(isOn)) }),
    destroy: () => view.destroy(),
  }
}
