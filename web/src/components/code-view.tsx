/** Code that is only shown: with line numbers and colours, without an editor. */

import { type CodeLanguage, type CodePart, highlight } from './highlight.ts'

const partClass: Readonly<Record<CodePart['kind'], string>> = {
  string: 'st',
  number: 'nu',
  keyword: 'kw',
  function: 'fn',
  comment: 'co',
  name: 'k',
  plain: 'pu',
}

/** One line of code, coloured. */
export function CodeLine({ text, language }: { text: string; language: CodeLanguage }) {
  return (
    <>
      {highlight(text, language).map(({ kind, text: part }, index) => (
        <span key={index} class={partClass[kind]}>
          {part}
        </span>
      ))}
    </>
  )
}

interface CodeViewProps {
  text: string
  language: CodeLanguage
  label: string
  /** Long lines scroll, and do not wrap. */
  isNarrow?: boolean
}

export function CodeView({ text, language, label, isNarrow = false }: CodeViewProps) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard.
    <section class={isNarrow ? 'code' : 'code nowrap'} aria-label={label} tabIndex={0}>
      {text.split('\n').map((line, index) => (
        <div key={index} class="l">
          <i>{index + 1}</i>
          <span>
            <CodeLine text={line} language={language} />
          </span>
        </div>
      ))}
    </section>
  )
}
