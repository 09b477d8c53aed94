/** The languages of the code field, with what finds mistakes in them. Loaded with the first editor. */

import { javascript } from '@codemirror/lang-javascript'
import { json, jsonParseLinter } from '@codemirror/lang-json'
import { type Diagnostic, linter, setDiagnostics } from '@codemirror/lint'
import type { Extension } from '@codemirror/state'
import type { EditorView } from '@codemirror/view'

export type EditedLanguage = 'json' | 'javascript'

export function languageOf(language: EditedLanguage): Extension {
  return language === 'json' ? [json(), linter(jsonParseLinter(), { delay: 300 })] : javascript()
}

/** Marks what the server refused; without a line, all of the first one. */
export function markRefusal(view: EditorView, message: string, line = 1, column = 1): void {
  const { doc } = view.state
  const place = doc.line(Math.min(Math.max(1, line), doc.lines))
  const from = Math.min(place.from + Math.max(0, column - 1), place.to)
  const diagnostic: Diagnostic = { from, to: Math.max(from, place.to), severity: 'error', message }
  view.dispatch(setDiagnostics(view.state, [diagnostic]))
}
