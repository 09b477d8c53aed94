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

/** Source files of one program, without tests, and what they import of each other. */
export interface SourceTree {
  /** In the order of the file system. */
  readonly paths: readonly string[]
  readonly folders: readonly string[]
  /** Empty if the tree has no such file. */
  text: (path: string) => string
  importsOf: (path: string) => readonly string[]
  /** The folders that the files of a folder import from, without itself. */
  foldersUsedBy: (folder: string) => readonly string[]
}

/** The tree of the files that match a pattern. Types count as imports, and so does `import()`. */
export function sourceTree(pattern: string): SourceTree {
  const texts = new Map(
    filesOf(pattern)
      .filter(path => !/\.test\.tsx?$/.test(path))
      .map(path => [path, textOf(path)]),
  )
  const imports = new Map(
    [...texts].map(([path, text]) => {
      const targets = [...text.matchAll(/(?:from|import)\s*\(?\s*'(\.[^']+)'/g)]
      return [path, targets.map(([, target]) => join(dirname(path), target!).replaceAll('\\', '/'))]
    }),
  )
  const paths = [...texts.keys()]
  const importsOf = (path: string) => imports.get(path) ?? []
  return {
    paths,
    folders: [...new Set(paths.map(path => dirname(path)))],
    text: path => texts.get(path) ?? '',
    importsOf,
    foldersUsedBy: folder => {
      const own = paths.filter(path => dirname(path) === folder)
      const used = own.flatMap(path => importsOf(path).map(target => dirname(target)))
      return [...new Set(used)].filter(each => each !== folder)
    },
  }
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
