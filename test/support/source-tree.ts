/** The files of the repository, what they import, and lines that are too wide, for test/tidy.test.ts. */

import { globSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const root = join(import.meta.dirname, '../..')

/** The paths, with forward slashes, of the files that match the patterns. */
export function filesOf(...patterns: readonly string[]): string[] {
  const exclude = ['**/node_modules/**', 'dist/**']
  return globSync(patterns, { cwd: root, exclude }).map(path => normalize(path).replaceAll('\\', '/'))
}

export function textOf(path: string): string {
  return readFileSync(join(root, path), 'utf8')
}

/** The source files, without tests. */
export const sources: ReadonlyMap<string, string> = new Map(
  filesOf('src/**/*.ts')
    .filter(path => !path.endsWith('.test.ts'))
    .map(path => [path, textOf(path)]),
)

const imports: ReadonlyMap<string, readonly string[]> = new Map(
  [...sources].map(([path, text]) => {
    const targets = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
    return [path, targets.map(([, target]) => join(dirname(path), target!).replaceAll('\\', '/'))]
  }),
)

export function importsOf(path: string): readonly string[] {
  return imports.get(path) ?? []
}

/** The folders that the files of a folder import from, without itself. */
export function foldersUsedBy(folder: string): readonly string[] {
  const own = [...sources.keys()].filter(path => dirname(path) === folder)
  return [...new Set(own.flatMap(path => importsOf(path).map(target => dirname(target))))].filter(
    used => used !== folder,
  )
}

/** Cycles in a graph, each as the text `a -> b -> a`. */
export function cyclesIn(nodes: Iterable<string>, next: (node: string) => readonly string[]): string[] {
  const done = new Set<string>()
  const cycles: string[] = []
  const visit = (node: string, trail: readonly string[]): void => {
    if (trail.includes(node)) cycles.push([...trail.slice(trail.indexOf(node)), node].join(' -> '))
    if (done.has(node) || trail.includes(node)) return
    for (const target of next(node)) visit(target, [...trail, node])
    done.add(node)
  }
  for (const node of nodes) visit(node, [])
  return cycles
}

const codeColumns = 120
const proseColumns = 110
const commentLine = /^\s*(?:\/\/|\/?\*)/
/** A link or a path in an import: it cannot be broken. */
const unbreakable = /https?:\/\/\S+|\]\([^)\s]*\)|from '[^']+'/g

/** Lines of code over 120 columns and lines of comment over 110. */
export function wideCodeLines(path: string): string[] {
  return wideLines(path, line => (commentLine.test(line) ? proseColumns : codeColumns))
}

/** Lines of prose over 110 columns in a Markdown page. Tables and code blocks may be wider. */
export function wideProseLines(path: string): string[] {
  let isCode = false
  return wideLines(path, line => {
    if (/^\s*```/.test(line)) isCode = !isCode
    return isCode || /^\s*\|/.test(line) ? Infinity : proseColumns
  })
}

function wideLines(path: string, columnsMax: (line: string) => number): string[] {
  const wide: string[] = []
  for (const [index, line] of textOf(path).split('\n').entries()) {
    if (line.replace(unbreakable, '').length > columnsMax(line)) wide.push(`${path}:${index + 1}`)
  }
  return wide
}
