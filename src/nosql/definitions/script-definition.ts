/** Stored procedures, triggers and user-defined functions as resources: their definition and its checks. */

import { fieldOf, invalidInput, malformed, readObject, readString } from './definition-input.ts'
import { missingIdText, parseResourceId } from './resource-name.ts'

export type ScriptKind = 'sprocs' | 'triggers' | 'udfs'

export interface Script {
  readonly id: string
  readonly body: string
  readonly triggerOperation?: string
  readonly triggerType?: string
}

/**
 * Per kind: the name of the feed, the marker byte in `_rid`s (xo/dbimp, cosmos-157 and 161), and the
 * service's limit per container.
 */
export const scriptKinds = {
  sprocs: { feed: 'StoredProcedures', mark: 0x80, quota: 'storedProcedures', countMax: 100 },
  triggers: { feed: 'Triggers', mark: 0x70, quota: 'triggers', countMax: 25 },
  udfs: { feed: 'UserDefinedFunctions', mark: 0x60, quota: 'functions', countMax: 50 },
} as const satisfies Record<ScriptKind, object>

export function isScriptKind(type: string): type is ScriptKind {
  return Object.hasOwn(scriptKinds, type)
}

export const triggerOperations = ['all', 'create', 'update', 'delete', 'replace'] as const
export const triggerTypes = ['pre', 'post'] as const

/** The body is not compiled here. As in the service, an error in it shows only when the script runs. */
export function parseScript(kind: ScriptKind, input: unknown): Script {
  const fields = readObject(input, 'body')
  const id = parseResourceId(fieldOf(fields, 'id'))
  const body = fieldOf(fields, 'body')
  if (body === undefined) malformed(missingIdText.replace("'id; '", "'body; '"))
  const script = { id, body: readString(body, 'body') }
  if (kind !== 'triggers') return script
  return {
    ...script,
    triggerOperation: readWordAsIs(fieldOf(fields, 'triggerOperation'), 'triggerOperation', triggerOperations),
    triggerType: readWordAsIs(fieldOf(fields, 'triggerType'), 'triggerType', triggerTypes),
  }
}

/** Keeps the case of the word: SDKs use different cases, and compare the result with what they sent. */
function readWordAsIs(value: unknown, where: string, words: readonly string[]): string {
  const text = readString(value, where)
  if (!words.includes(text.toLowerCase())) invalidInput(`'${where}' must be one of ${words.join(', ')}`)
  return text
}
