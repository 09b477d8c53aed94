/** Checks the names and types of the fields in stages whose specification is a document with fixed fields. */

import { bsonType, typeName } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import { refuse } from '../expressions/core/define-operator.ts'

const failedToParse = 9
const typeMismatch = 14

type FieldType = 'any' | 'object' | 'string' | 'array' | 'stringOrObject'

interface FieldForm {
  readonly type: FieldType
  readonly isRequired?: true
}

export type ArgumentForms<Name extends string> = Readonly<Record<Name, FieldForm>>

const wanted: Readonly<
  Record<Exclude<FieldType, 'any'>, { readonly types: readonly number[]; readonly text: string }>
> = {
  object: { types: [bsonType.document], text: "type 'object'" },
  string: { types: [bsonType.string], text: "type 'string'" },
  array: { types: [bsonType.array], text: "type 'array'" },
  stringOrObject: { types: [bsonType.string, bsonType.document], text: "types '[object, string]'" },
}

/** `owner` names the arguments in errors: the stage, or a path within it. */
export function stageArguments<Name extends string>(
  spec: BsonDocument,
  owner: string,
  forms: ArgumentForms<Name>,
): Partial<Record<Name, Value>> {
  const found: Partial<Record<Name, Value>> = {}
  for (const [name, value] of spec.fields) {
    if (!Object.hasOwn(forms, name)) refuse(40415, `BSON field '${owner}.${name}' is an unknown field.`)
    const { type } = forms[name as Name]
    if (type !== 'any' && !wanted[type].types.includes(value.type)) {
      const is = `is the wrong type '${typeName(value.type)}'`
      refuse(typeMismatch, `BSON field '${owner}.${name}' ${is}, expected ${wanted[type].text}`)
    }
    found[name as Name] = value
  }
  for (const [name, { isRequired }] of Object.entries(forms) as [Name, FieldForm][]) {
    if (isRequired !== true || found[name] !== undefined) continue
    refuse(40414, `BSON field '${owner}.${name}' is missing but a required field`)
  }
  return found
}

/** The argument of a stage, which must be a document. */
export function stageDocument(spec: Value, name: string, article: 'the' | 'The'): BsonDocument {
  if (spec.type === bsonType.document) return spec
  return refuse(failedToParse, `${article} ${name} stage specification must be an object, found ${typeName(spec.type)}`)
}

/** The strings of an array. */
export function stringsIn(value: Value | undefined, owner: string): readonly string[] {
  if (value?.type !== bsonType.array) return []
  return value.elements.map((element, at) => {
    if (element.type === bsonType.string) return element.value
    const is = `is the wrong type '${typeName(element.type)}'`
    return refuse(typeMismatch, `BSON field '${owner}.${at}' ${is}, expected type 'string'`)
  })
}
