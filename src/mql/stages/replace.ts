/** `$replaceRoot`, `$replaceWith` and `$redact`: replace each document, or drop it. */

import { spend } from '../../base/work.ts'
import { withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, string, type Value } from '../../document/bson/value.ts'
import { namedArguments, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import { type Context, type Evaluate, tracedValue } from '../expressions/core/scope.ts'
import { type CompileStage, change, eachToOne, type Stage } from './stage.ts'

function replacement(name: string, evaluate: Evaluate, what: string): Stage {
  return change(name, context => {
    const { root } = context
    const value = tracedValue(evaluate, context)
    if (value?.type === bsonType.document) return value
    const result = `resulting value was: ${printForMessage(value)}. Type of resulting value: '${nameOfType(value)}'`
    return refuse(40228, `${what} must evaluate to an object, but ${result}. Input document: ${printForMessage(root)}`)
  })
}

export const replaceRootStage: CompileStage = (spec, { expressions }, name) => {
  if (spec.type !== bsonType.document) {
    return refuse(40229, `expected an object as specification for ${name} stage, got ${nameOfType(spec)}`)
  }
  const { newRoot } = namedArguments(spec, ['newRoot'], unknown =>
    refuse(40415, `BSON field '$replaceRoot.${unknown}' is an unknown field.`),
  )
  if (newRoot === undefined) return refuse(40414, "BSON field '$replaceRoot.newRoot' is missing but a required field")
  return replacement(name, expressions.compile(newRoot), "'newRoot' expression ")
}

export const replaceWithStage: CompileStage = (spec, { expressions }, name) =>
  replacement(name, expressions.compile(spec), "'replacement document' ")

const answers = { DESCEND: 'descend', PRUNE: 'prune', KEEP: 'keep' } as const

/**
 * Evaluates the expression for the document. On `$$DESCEND` it is evaluated again for each embedded document;
 * paths then begin there.
 */
export const redactStage: CompileStage = (spec, { scope, expressions }, name) => {
  const names = Object.keys(answers) as (keyof typeof answers)[]
  const inner = scope.with([...names, 'CURRENT'])
  const current = inner.slots.at(-1)!
  const evaluate = expressions.within(inner.scope).compile(spec)

  function redact(document: BsonDocument, context: Context): BsonDocument | undefined {
    spend(1)
    context.slots[current] = document
    const answer = evaluate(context)
    const word = answer?.type === bsonType.string ? answer.value : undefined
    if (word === answers.KEEP) return document
    if (word === answers.PRUNE) return undefined
    if (word !== answers.DESCEND) {
      const allowed = 'the variables $$KEEP, $$DESCEND, and $$PRUNE'
      refuse(
        17053,
        `$redact's expression should not return anything aside from ${allowed}, but returned ` +
          `${printForMessage(answer)}`,
      )
    }
    const fields: [string, Value][] = []
    for (const [field, value] of document.fields) {
      const kept = redactValue(value, context)
      if (kept !== undefined) fields.push([field, kept])
    }
    return withOrigin(BsonDocument.of(fields), document.origin)
  }

  /** Recurses as deep as documents nest. */
  function redactValue(value: Value, context: Context): Value | undefined {
    if (value.type === bsonType.document) return redact(value, context)
    if (value.type !== bsonType.array) return value
    const kept = value.elements.map(element => redactValue(element, context)).filter(element => element !== undefined)
    return withOrigin(BsonArray.of(kept), value.origin)
  }

  return eachToOne(name, context => {
    for (const [index, answer] of names.entries()) context.slots[inner.slots[index]!] = string(answers[answer])
    return redact(context.root, context)
  })
}
