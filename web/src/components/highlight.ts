/** Splits code into coloured parts, for code that is only shown. Editors use CodeMirror. */

export type PartKind = 'string' | 'number' | 'keyword' | 'function' | 'comment' | 'name' | 'plain'

export interface CodePart {
  kind: PartKind
  text: string
}

export type CodeLanguage = 'json' | 'sql' | 'javascript' | 'csharp' | 'python' | 'java' | 'go'

const sqlWords = [
  ...['SELECT', 'VALUE', 'FROM', 'WHERE', 'ORDER', 'GROUP', 'BY', 'ASC', 'DESC', 'TOP', 'DISTINCT', 'JOIN'],
  ...['AND', 'OR', 'NOT', 'IN', 'AS', 'BETWEEN', 'LIKE', 'EXISTS', 'OFFSET', 'LIMIT', 'IS'],
  ...['NULL', 'TRUE', 'FALSE', 'UNDEFINED'],
]
const keywords: Readonly<Record<Exclude<CodeLanguage, 'json'>, RegExp>> = {
  sql: new RegExp(`^(?:${sqlWords.join('|')})$`, 'i'),
  javascript:
    /^(?:import|from|const|let|new|await|async|function|return|if|else|for|of|true|false|null|undefined|use|db)$/,
  csharp: /^(?:using|var|new|await|true|false|null|class|public|string|int)$/,
  python: /^(?:from|import|as|def|return|True|False|None|with|for|in)$/,
  java: /^(?:import|new|var|class|public|static|void|final|true|false|null|int|String)$/,
  go: /^(?:package|import|func|var|const|return|if|nil|true|false|type|struct|map|string|byte)$/,
}

const tokens = new RegExp(
  [
    String.raw`(?<comment>//[^\n]*|#[^\n]*|--[^\n]*)`,
    String.raw`(?<string>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|\x60[^\x60]*\x60)`,
    String.raw`(?<number>-?\b\d[\w.+]*)`,
    String.raw`(?<word>[A-Za-z_$][\w$]*)`,
    String.raw`(?<other>\s+|.)`,
  ].join('|'),
  'gs',
)

/** A colon after a text makes it a name in JSON. */
const isName = (text: string, at: number) => /^\s*:/.test(text.slice(at, at + 20))

function kindOf(match: RegExpMatchArray, text: string, language: CodeLanguage): PartKind {
  const { comment, string, number, word } = match.groups!
  const end = match.index! + match[0].length
  if (comment !== undefined) {
    const isComment =
      language === 'sql'
        ? comment.startsWith('--')
        : language === 'python'
          ? comment.startsWith('#')
          : comment.startsWith('//')
    return isComment && language !== 'json' ? 'comment' : 'plain'
  }
  if (string !== undefined) return language === 'json' && isName(text, end) ? 'name' : 'string'
  if (number !== undefined) return 'number'
  if (word === undefined) return 'plain'
  if (language === 'json') return 'number'
  if (keywords[language].test(word)) return 'keyword'
  return text[end] === '(' ? 'function' : 'plain'
}

/** The parts of a text, one after the other; together they are the text. */
export function highlight(text: string, language: CodeLanguage): CodePart[] {
  const parts: CodePart[] = []
  for (const match of text.matchAll(tokens)) {
    const kind = kindOf(match, text, language)
    const last = parts.at(-1)
    if (last?.kind === kind && kind === 'plain') last.text += match[0]
    else parts.push({ kind, text: match[0] })
  }
  return parts
}
