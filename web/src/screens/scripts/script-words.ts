/** Names, first texts and forms of scripts. */

import { newQueryId, type QueryBody } from '../../api/calls.ts'
import type { ScriptKind, ScriptRun } from '../../api/container-shapes.ts'
import { idProblem } from '../../containers/input-rules.ts'
import { readPartition } from '../../containers/partition-text.ts'

export const kinds: readonly ScriptKind[] = ['procedures', 'triggers', 'functions']

export const kindTitle: Readonly<Record<ScriptKind, string>> = {
  procedures: 'Stored procedures',
  triggers: 'Triggers',
  functions: 'User-defined functions',
}

export const kindWord: Readonly<Record<ScriptKind, string>> = {
  procedures: 'stored procedure',
  triggers: 'trigger',
  functions: 'user-defined function',
}

export const triggerOperations = ['All', 'Create', 'Replace', 'Update', 'Delete'] as const

/** What a new script begins with; it can be run as it is. */
export function firstBody(kind: ScriptKind, id: string): string {
  const name = /^[A-Za-z_$][\w$]*$/.test(id) ? id : 'script'
  if (kind === 'triggers') {
    return `function ${name}() {
  const request = getContext().getRequest()
  const item = request.getBody()
  // Change the item before it is written.
  request.setBody(item)
}
`
  }
  if (kind === 'functions') {
    return `function ${name}(value) {
  return value
}
`
  }
  return `function ${name}(limit) {
  const collection = getContext().getCollection()
  const query = 'SELECT TOP ' + (limit ?? 10) + ' c.id FROM c'
  collection.queryDocuments(collection.getSelfLink(), query, function (error, items) {
    if (error) throw error
    getContext().getResponse().setBody(items)
  })
}
`
}

export function scriptIdProblem(id: string, known: readonly { id: string }[]): string | undefined {
  if (known.some(each => each.id === id)) return 'There is a script of this kind with this name.'
  return idProblem(id)
}

/** The arguments of a run: one JSON array; nothing counts as none. */
export function readArguments(text: string): { value?: unknown[]; problem?: string } {
  if (text.trim() === '') return { value: [] }
  try {
    const value: unknown = JSON.parse(text)
    if (Array.isArray(value)) return { value }
  } catch {
    // The message below says what to write.
  }
  return { problem: 'Write one JSON array, for instance ["sess-2207", 1800].' }
}

/** The partition key of a run: one value, or an array of one value for each level. */
export function readPartitionKey(text: string, levels: number): { value?: unknown[]; problem?: string } {
  const value = readPartition(text)
  // What begins like JSON and is none was not meant as it stands.
  const isBroken = value?.[0] === text.trim() && /^["[{]/.test(text.trim())
  if (value?.length === levels && !isBroken) return { value }
  return {
    problem:
      levels > 1 ? `Write JSON, for instance ["a", "b"]: ${levels} values.` : 'Write one value, for instance u171.',
  }
}

/** A query whose only row is what the function answers. */
export function functionQuery(id: string, args: readonly unknown[]): Extract<QueryBody, { text: string }> {
  const parameters = args.map((value, at) => ({ name: `@p${at}`, value }))
  return {
    id: newQueryId(),
    text: `SELECT VALUE udf.${id}(${parameters.map(({ name }) => name).join(', ')})`,
    parameters,
  }
}

/** What a run answered, as JSON. */
export function resultText({ result, message }: ScriptRun): string {
  if (message !== undefined) return message
  return result === undefined ? '' : JSON.stringify(result, null, 2)
}
