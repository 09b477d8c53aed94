/** CodeMirror for queries: SQL or Mongo's JSON, with completion from functions and sampled items. */

import { autocompletion, type CompletionContext, type CompletionResult } from '@codemirror/autocomplete'
import { json } from '@codemirror/lang-json'
import { SQLDialect, sql } from '@codemirror/lang-sql'
import { syntaxTree } from '@codemirror/language'
import { setDiagnostics } from '@codemirror/lint'
import { Compartment, type Extension, Prec } from '@codemirror/state'
import { type EditorView, keymap } from '@codemirror/view'
import type { Api, Completion } from '../../api/shapes.ts'
import { mongoOffers, type Offer, sqlOffers } from './complete.ts'

const language = new Compartment()

function source(api: Api, completion: Completion) {
  return (context: CompletionContext): CompletionResult | null => {
    const place = syntaxTree(context.state).resolveInner(context.pos, -1).name
    // In a text of SQL nothing has a name. In JSON names are texts.
    if (api === 'nosql' && /String|Comment/.test(place)) return null
    const line = context.state.doc.lineAt(context.pos)
    const before = line.text.slice(0, context.pos - line.from)
    const { offers, typed } = (api === 'mongo' ? mongoOffers : sqlOffers)(completion, before)
    if (typed === 0 && !context.explicit && !before.endsWith('.')) return null
    return {
      from: context.pos - typed,
      options: offers.map(({ label, kind, detail, apply, boost }: Offer) => ({
        label: api === 'mongo' && before.slice(-typed).startsWith('"') ? `"${label}` : label,
        displayLabel: label,
        type: kind,
        ...(detail !== undefined && { detail }),
        ...(apply !== undefined && { apply }),
        ...(boost !== undefined && { boost }),
      })),
      validFor: api === 'mongo' ? /^"?[$\w.]*$/ : /^[\w$@]*$/,
    }
  }
}

function languageOf(api: Api, completion: Completion | undefined): Extension {
  const offers = completion ? [autocompletion({ override: [source(api, completion)], icons: false })] : []
  if (api === 'mongo') return [json(), ...offers]
  const dialect = SQLDialect.define({
    keywords: (completion?.keywords ?? ['SELECT', 'FROM', 'WHERE', 'ORDER', 'GROUP', 'BY', 'AND', 'OR', 'NOT', 'AS'])
      .join(' ')
      .toLowerCase(),
    builtin: (completion?.functions ?? []).map(({ name }) => name.toLowerCase()).join(' '),
    doubleQuotedStrings: true,
    backslashEscapes: true,
    specialVar: '@',
  })
  return [sql({ dialect }), ...offers]
}

export interface QueryKeys {
  run: () => void
  cancel: () => void
}

/** The keys come before CodeMirror's own: Shift and Enter would make a line. */
export function queryExtensions(api: Api, completion: Completion | undefined, keys: QueryKeys): Extension {
  const act = (run: () => void) => () => {
    run()
    return true
  }
  return [
    Prec.highest(
      keymap.of([
        { key: 'Shift-Enter', run: act(keys.run) },
        { key: 'F5', run: act(keys.run) },
        { key: 'Mod-Enter', run: act(keys.run) },
        { key: 'Mod-.', run: act(keys.cancel) },
      ]),
    ),
    language.of(languageOf(api, completion)),
  ]
}

/** The sampled paths have come. */
export function setCompletion(view: EditorView, api: Api, completion: Completion): void {
  view.dispatch({ effects: language.reconfigure(languageOf(api, completion)) })
}

/** Shows where the server found the mistake; without a place, takes the mark away. */
export function markProblem(
  view: EditorView,
  problem: { message: string; line: number; column: number } | undefined,
): void {
  const { doc } = view.state
  if (!problem) {
    view.dispatch(setDiagnostics(view.state, []))
    return
  }
  const line = doc.line(Math.max(1, Math.min(doc.lines, problem.line)))
  const from = Math.min(line.to, line.from + Math.max(0, problem.column - 1))
  const word = /^[\w$.@]+|^./.exec(doc.sliceString(from, line.to))?.[0].length ?? 0
  const at = word === 0 ? Math.max(line.from, from - 1) : from
  view.dispatch(
    setDiagnostics(view.state, [
      { from: at, to: Math.max(at, from + word), severity: 'error', message: problem.message },
    ]),
  )
}
