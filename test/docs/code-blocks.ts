/**
 * The code blocks of the README and of the pages, and what happens with each of them.
 *
 * A block is run, parsed or only shown, by its language. A comment in the line above it says otherwise:
 *
 *   <!-- not run: the reason -->    a block that could run by its language, or code of another language
 *   <!-- runs until stopped -->     a server: it runs while the later blocks of the page run
 */

import { filesOf, textOf } from '../support/source-tree.ts'

export interface CodeBlock {
  readonly page: string
  /** Line of the fence, from 1. */
  readonly line: number
  readonly language: string
  readonly code: string
  /** Undefined if the block is run or parsed. */
  readonly reasonNotRun: string | undefined
  readonly isServer: boolean
  /** The name that the prose above gives to a whole test. `node --test` runs it. */
  readonly testFile: string | undefined
}

export const runLanguages = ['js', 'sh', 'sql']
export const parsedLanguages = ['json', 'yaml']
/** Output, grammar, drawings and changes: no code. */
export const shownLanguages = ['text', 'diff']

/** The pages that people read. */
export const pages = filesOf('*.md', 'docs/**/*.md', 'bench/*.md').filter(page => page !== 'CHANGELOG.md')

const fence = /^( *)```(.*)$/
const namedTest = /`([\w-]+\.test\.mjs)`:$/
const comment = /^<!-- (?:not run: (?<reason>.+)|(?<server>runs until stopped)) -->$/

export function blocksOf(page: string): CodeBlock[] {
  const lines = textOf(page).split('\n')
  const blocks: CodeBlock[] = []
  for (let index = 0; index < lines.length; index++) {
    const [, indent, language] = fence.exec(lines[index]!) ?? []
    if (language === undefined) continue
    const end = lines.findIndex((line, place) => place > index && line === `${indent}\`\`\``)
    if (indent !== '' || end === -1) throw new Error(`${page}:${index + 1}: a block begins and ends at the margin`)
    const { reason, server } = comment.exec(lines[index - 1] ?? '')?.groups ?? {}
    const [, testFile] = namedTest.exec(lines[index - 2] ?? '') ?? []
    const code = lines.slice(index + 1, end).join('\n')
    const isServer = server !== undefined
    blocks.push({ page, line: index + 1, language, code, reasonNotRun: reason, isServer, testFile })
    index = end
  }
  return blocks
}
