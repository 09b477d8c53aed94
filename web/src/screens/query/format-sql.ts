/** Formats a query: a clause on each line, conditions below WHERE. Texts and comments stay as they are. */

const clauses = ['FROM', 'WHERE', 'GROUP BY', 'ORDER BY', 'OFFSET', 'JOIN', 'SELECT']
const tokens = /(--[^\n]*|\/\*[\s\S]*?\*\/)|("(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')|(\s+)|([A-Za-z_][\w$]*)|(.)/gs

interface Token {
  kind: 'comment' | 'text' | 'space' | 'word' | 'mark'
  text: string
}

function tokensOf(text: string): Token[] {
  return [...text.matchAll(tokens)].map(([all, comment, quoted, space, word]) => ({
    kind: comment ? 'comment' : quoted ? 'text' : space ? 'space' : word ? 'word' : 'mark',
    text: all,
  }))
}

/** The clause that begins with this word; GROUP and ORDER need their BY. */
function clauseAt(words: readonly Token[], at: number): string | undefined {
  const word = words[at]!.text.toUpperCase()
  const next = words
    .slice(at + 1)
    .find(({ kind }) => kind !== 'space')
    ?.text.toUpperCase()
  return clauses.find(clause => clause === word || clause === `${word} ${next}`)
}

export function formatSql(text: string): string {
  const all = tokensOf(text.trim())
  let out = ''
  let depth = 0
  let isBetween = false
  const lineBreak = (indent: string) => {
    out = out.replace(/[ \n]*$/, '')
    if (out !== '') out += `\n${indent}`
  }
  for (const [at, { kind, text: token }] of all.entries()) {
    if (kind === 'space') {
      if (!/[\s(]$/.test(out) && out !== '') out += ' '
    } else if (kind === 'comment') {
      out += token
      if (token.startsWith('--')) out += '\n'
    } else if (kind === 'word' && depth === 0) {
      const upper = token.toUpperCase()
      const clause = clauseAt(all, at)
      if (clause) lineBreak('')
      else if ((upper === 'AND' && !isBetween) || upper === 'OR') lineBreak('  ')
      if (upper === 'BETWEEN') isBetween = true
      else if (upper === 'AND') isBetween = false
      out += token
    } else {
      if (token === '(' || token === '[' || token === '{') depth++
      if (token === ')' || token === ']' || token === '}') depth--
      out += token
    }
  }
  return out.trim()
}
