/** Reports why a value does not match a JSON Schema: one report for each broken rule, in MongoDB's form. */

import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Field, int32, int64, string, type Value } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import type { PatternRule, PropertyRule, Schema, SchemaRule } from '../filter/schema.ts'
import {
  brokenOf,
  duplicateIn,
  elementCount,
  holdsProperty,
  mismatchIn,
  missingOf,
  type Part,
  propertyOf,
} from '../filter/schema-tests.ts'
import {
  annotationsOf,
  consideredTypes,
  consideredValue,
  listOf,
  operatorName,
  partValue,
  type ReportOptions,
  reason,
  report,
  specifiedAs,
  textsOf,
} from './failure.ts'

/** The report of a whole `$jsonSchema` that a document does not match. */
export function schemaFailure(schema: Schema, document: Part, options: ReportOptions): BsonDocument {
  if (schema.isNever) return neverFailure(schema, options)
  return report(operatorName('$jsonSchema'), annotationsOf(schema.spec), [
    ['schemaRulesNotSatisfied', listOf(failuresOf(schema, document, options))],
  ])
}

/** The report on a schema that no document can match. */
function neverFailure({ spec }: Schema, options: ReportOptions): BsonDocument {
  const written = BsonDocument.of([['$jsonSchema', spec]])
  return report(
    operatorName('$jsonSchema'),
    specifiedAs(written, options),
    reason('expression always evaluates to false'),
  )
}

/** Reports for the rules that a value breaks. Some rules leave the report to others, so there may be none. */
function failuresOf(schema: Schema, part: Part, options: ReportOptions): Value[] {
  return schema.rules
    .filter(({ test }) => !test(part.bytes, part.type, part.start))
    .flatMap(rule => ruleFailures(rule, part, options))
}

/** The field `details` for a schema within another one. */
function detailsOf(schema: Schema, part: Part, options: ReportOptions): Field {
  return ['details', schema.isNever ? neverFailure(schema, options) : listOf(failuresOf(schema, part, options))]
}

function ruleFailures(rule: SchemaRule, part: Part, options: ReportOptions): readonly Value[] {
  const { bytes, start } = part
  const name = operatorName(rule.keyword)
  const written = () => specifiedAs(rule.specifiedAs, options)
  const considered = () => consideredValue(partValue(part), options)
  switch (rule.kind) {
    case 'value':
      return [report(name, written(), reason(rule.reason), considered())]
    case 'type':
      // The keyword `required` reports missing values.
      if (part.type === 0) return []
      return [report(name, written(), reason('type did not match'), considered(), consideredTypes([partValue(part)]))]
    case 'enum':
      if (part.type === 0) return []
      return [enumFailure(rule, part, options)]
    case 'itemCount': {
      const count: Field = ['numberOfItems', int32(elementCount(bytes, start))]
      return [report(name, written(), reason('array did not match specified length'), considered(), [count])]
    }
    case 'uniqueItems': {
      const duplicate: Field = ['duplicatedValue', duplicateIn(bytes, start)!]
      return [report(name, written(), reason('found a duplicate item'), considered(), [duplicate])]
    }
    case 'propertyCount': {
      const count: Field = ['numberOfProperties', int32(elementCount(bytes, start))]
      return [report(name, written(), reason('specified number of properties was not satisfied'), [count])]
    }
    case 'eachItem': {
      const index = mismatchIn(rule.schema, rule.from, bytes, start)!
      const details = detailsOf(rule.schema, itemAt(part, index), options)
      const place: Field = ['itemIndex', int32(index)]
      return [report(name, annotationsOf(rule.schema.spec), reason(rule.reason), [place, details])]
    }
    case 'noItems': {
      const others = valuesIn(part).slice(rule.from)
      return [report(name, written(), reason('found additional items'), [['additionalItems', listOf(others)]])]
    }
    case 'itemList': {
      const count = elementCount(bytes, start)
      const failing = rule.schemas.flatMap((schema, index) => {
        const item = index < count ? itemAt(part, index) : undefined
        if (item === undefined || schema.test(item.bytes, item.type, item.start)) return []
        return [report(['itemIndex', int64(BigInt(index))], detailsOf(schema, item, options))]
      })
      return [report(name, [['details', listOf(failing)]])]
    }
    case 'properties': {
      const failing = rule.properties.flatMap(property => propertyFailure(property, part, options))
      return failing.length === 0 ? [] : [report(name, [['propertiesNotSatisfied', listOf(failing)]])]
    }
    case 'otherProperties':
      return otherPropertyFailures(rule, part, options)
    case 'required': {
      const missing: Field = ['missingProperties', textsOf(missingOf(rule.names, bytes, start))]
      return [report(name, written(), [missing])]
    }
    case 'dependencies': {
      const failing = brokenOf(rule.dependencies, bytes, start).map(({ name: property, needs }) =>
        report(
          ['conditionalProperty', string(property)],
          'test' in needs
            ? detailsOf(needs, part, options)
            : ['missingProperties', textsOf(missingOf(needs, bytes, start))],
        ),
      )
      return [report(name, annotationsOf(rule.spec), [['failingDependencies', listOf(failing)]])]
    }
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return [logicalFailure(rule, part, options)]
    case 'not':
      return [report(name, reason('child expression matched'))]
  }
}

type RuleOf<Kind extends SchemaRule['kind']> = Extract<SchemaRule, { kind: Kind }>

/** A whole document can only equal a document. If none is listed, it can equal nothing. */
function enumFailure({ keyword, specifiedAs: spec }: SchemaRule, part: Part, options: ReportOptions): BsonDocument {
  const listed = spec.get(keyword)
  const isWhole = part.type === bsonType.document && part.start === 0
  const isPossible = listed?.type === bsonType.array && listed.elements.some(({ type }) => type === bsonType.document)
  const name = operatorName(keyword)
  const written = specifiedAs(spec, options)
  if (isWhole && !isPossible) return report(name, written, reason('expression always evaluates to false'))
  return report(name, written, reason('value was not found in enum'), consideredValue(partValue(part), options))
}

function propertyFailure(property: PropertyRule, { bytes, start }: Part, options: ReportOptions): BsonDocument[] {
  if (holdsProperty(property, bytes, start)) return []
  const { name, schema } = property
  const details = failuresOf(schema, propertyOf(bytes, start, name), options)
  if (details.length === 0) return []
  return [report(['propertyName', string(name)], annotationsOf(schema.spec), [['details', listOf(details)]])]
}

function otherPropertyFailures(
  { named, patterns, others }: RuleOf<'otherProperties'>,
  part: Part,
  options: ReportOptions,
): BsonDocument[] {
  const fields = fieldsIn(part)
  const isOther = (name: string) => !named.has(name) && !patterns.some(({ isNamed }) => isNamed(name))
  const found: BsonDocument[] = []
  const name = operatorName('additionalProperties')
  if (others === 'none') {
    const names = fields.map(([field]) => field).filter(isOther)
    const written = BsonDocument.of([['additionalProperties', { type: bsonType.bool, value: false }]])
    if (names.length > 0) {
      found.push(report(name, specifiedAs(written, { isTruncated: false }), [['additionalProperties', textsOf(names)]]))
    }
  } else if (others !== 'any') {
    const failing = fields.find(([field, { bytes, type, start }]) => isOther(field) && !others.test(bytes, type, start))
    if (failing !== undefined) {
      found.push(
        report(
          name,
          annotationsOf(others.spec),
          reason('at least one additional property did not match the subschema'),
          [['failingProperty', string(failing[0])], detailsOf(others, failing[1], options)],
        ),
      )
    }
  }
  const matched = patterns.flatMap(pattern => patternFailure(pattern, fields, options))
  if (matched.length > 0) found.push(report(operatorName('patternProperties'), [['details', listOf(matched)]]))
  return found
}

/** The first property whose name matches the pattern and whose value does not match the schema. */
function patternFailure(
  { pattern, isNamed, schema }: PatternRule,
  fields: readonly (readonly [name: string, part: Part])[],
  options: ReportOptions,
): BsonDocument[] {
  const failing = fields.find(([name, { bytes, type, start }]) => isNamed(name) && !schema.test(bytes, type, start))
  if (failing === undefined) return []
  const [name, part] = failing
  return [
    report(
      ['propertyName', string(name)],
      annotationsOf(schema.spec),
      ['regexMatched', string(pattern)],
      detailsOf(schema, part, options),
    ),
  ]
}

function logicalFailure(
  { kind, keyword, of }: RuleOf<'allOf' | 'anyOf' | 'oneOf'>,
  part: Part,
  options: ReportOptions,
): BsonDocument {
  const { bytes, type, start } = part
  const isMatching = ({ test }: Schema) => test(bytes, type, start)
  const matching = of.flatMap((schema, index) => (kind === 'oneOf' && isMatching(schema) ? [int32(index)] : []))
  if (matching.length > 0) {
    const indexes: Field = ['matchingSchemaIndexes', listOf(matching)]
    return report(operatorName(keyword), reason('more than one subschema matched'), [indexes])
  }
  const failing = of.flatMap((schema, index) =>
    isMatching(schema)
      ? []
      : [report(['index', int32(index)], annotationsOf(schema.spec), detailsOf(schema, part, options))],
  )
  return report(operatorName(keyword), [['schemasNotSatisfied', listOf(failing)]])
}

function fieldsIn({ bytes, start }: Part): (readonly [name: string, part: Part])[] {
  const fields: (readonly [string, Part])[] = []
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) fields.push([cursor.name(), { bytes, type: cursor.type, start: cursor.valueStart }])
  return fields
}

function itemAt(part: Part, index: number): Part {
  return fieldsIn(part)[index]![1]
}

function valuesIn(part: Part): Value[] {
  return fieldsIn(part).map(([, each]) => partValue(each))
}
