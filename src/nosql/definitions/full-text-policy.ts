/** The full text policy of a container and the full text indexes that depend on it. */

import { fieldOf, malformed, readArray, readObject, readString } from './definition-input.ts'
import { indexPathsMax, isPropertyPath } from './policy-path.ts'

export interface FullTextPolicy {
  defaultLanguage?: string
  fullTextPaths: FullTextPath[]
}

export interface FullTextPath {
  path: string
  language?: string
}

export interface FullTextIndex {
  path: string
}

/** By name, and by the number that Windows has for it: the JavaScript SDK's own tests say 1033. */
const languages: ReadonlySet<string> = new Set([
  ...['en-US', 'de-DE', 'es-ES', 'fr-FR', 'it-IT', 'pt-BR', 'pt-PT'],
  ...['1033', '1031', '3082', '1036', '1040', '1046', '2070'],
])

export function parseFullTextPolicy(input: unknown): FullTextPolicy {
  const policy = readObject(input, 'fullTextPolicy')
  const where = 'fullTextPolicy.fullTextPaths'
  const fullTextPaths = readArray(fieldOf(policy, 'fullTextPaths') ?? [], where, indexPathsMax).map((element, at) => {
    const entry = readObject(element, `${where}[${at}]`)
    const path = readString(fieldOf(entry, 'path'), `${where}[${at}].path`)
    if (!isPropertyPath(path)) malformed(`The Full Text Policy contains an invalid Path: ${path}.`)
    const language = readLanguage(fieldOf(entry, 'language'), `${where}[${at}].language`)
    return language === undefined ? { path } : { path, language }
  })
  const defaultLanguage = readLanguage(fieldOf(policy, 'defaultLanguage'), 'fullTextPolicy.defaultLanguage')
  return defaultLanguage === undefined ? { fullTextPaths } : { defaultLanguage, fullTextPaths }
}

function readLanguage(input: unknown, where: string): string | undefined {
  if (input === undefined) return undefined
  const language = readString(input, where)
  if (!languages.has(language)) malformed(`The Full Text Policy contains an unsupported language: ${language}.`)
  return language
}

export function parseFullTextIndexes(input: unknown): FullTextIndex[] {
  const where = 'indexingPolicy.fullTextIndexes'
  return readArray(input, where, indexPathsMax).map((element, at) => {
    const path = readString(fieldOf(readObject(element, `${where}[${at}]`), 'path'), `${where}[${at}].path`)
    // INFERRED: the service does not document this text.
    if (!isPropertyPath(path)) malformed(`The Full Text Index contains an invalid Path: ${path}.`)
    return { path }
  })
}

/**
 * INFERRED text; the SDK's tests expect the refusal (azure-sdk-for-python,
 * test_fail_create_full_text_indexing_policy).
 */
export function checkFullTextIndexes(indexes: readonly FullTextIndex[], policy: FullTextPolicy | undefined): void {
  const declared = new Set(policy?.fullTextPaths.map(({ path }) => path))
  for (const { path } of indexes) {
    if (!declared.has(path)) malformed(`The Full Text Index's path::${path} not matching in Full Text Policy's path.`)
  }
}
