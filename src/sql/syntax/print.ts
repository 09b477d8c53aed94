/**
 * Prints a syntax tree in the layout that the service uses for the queries it rewrites.
 *
 * Parsing the text again gives the same tree. Operators are always in parentheses, so precedence is not
 * needed.
 */

import type { Count, Expression, FromCollection, FromSource, Literal, Logical, Query, Selection } from './ast.ts'

/** A subquery is indented by one step more than its line. */
const step = '    '

/** Longer chains are printed flat: with a pair of parentheses per term they would exceed `queryDepthMax`. */
const nestedChainTermsMax = 16

export function printQuery(query: Query, indent = ''): string {
  const lines = [`SELECT ${printHead(query)}${printSelection(query.selection, indent)}`]
  for (const [index, source] of query.sources.entries()) {
    lines.push(`${index === 0 ? 'FROM' : 'JOIN'} ${printSource(source, indent)}`)
  }
  if (query.where !== undefined) lines.push(`WHERE ${printExpression(query.where, indent)}`)
  if (query.groupBy !== undefined) lines.push(`GROUP BY ${printList(query.groupBy, indent)}`)
  if (query.orderBy !== undefined) {
    const items = query.orderBy.items.map(
      item => printExpression(item.expression, indent) + (item.direction === undefined ? '' : ` ${item.direction}`),
    )
    lines.push(`ORDER BY ${query.orderBy.isRank ? 'RANK ' : ''}${items.join(', ')}`)
  }
  if (query.offset !== undefined && query.limit !== undefined) {
    lines.push(`OFFSET ${printCount(query.offset)} LIMIT ${printCount(query.limit)}`)
  }
  return lines.join(`\n${indent}`)
}

function printHead({ distinct, top }: Query): string {
  return (distinct ? 'DISTINCT ' : '') + (top === undefined ? '' : `TOP ${printCount(top)} `)
}

function printCount(count: Count): string {
  if (count.kind === 'parameter') return count.name
  const digits = String(count.value)
  return count.isInteger || digits.includes('.') || digits.includes('e') ? digits : `${digits}.0`
}

function printSelection(selection: Selection, indent: string): string {
  if (selection.kind === 'star') return '*'
  if (selection.kind === 'value') return `VALUE ${printExpression(selection.expression, indent)}`
  return selection.items
    .map(item => printExpression(item.expression, indent) + (item.alias === undefined ? '' : ` AS ${item.alias}`))
    .join(', ')
}

function printSource({ iterates, alias, collection }: FromSource, indent: string): string {
  const printed = printCollection(collection, indent)
  if (iterates) return `${alias} IN ${printed}`
  return alias === undefined ? printed : `${printed} AS ${alias}`
}

function printCollection(collection: FromCollection, indent: string): string {
  if (collection.kind === 'query') return printSubquery(collection.query, indent)
  return printExpression(collection.expression, indent)
}

function printSubquery(query: Query, indent: string): string {
  const inner = indent + step
  return `(\n${inner}${printQuery(query, inner)}\n${indent})`
}

/** Integers with all digits, so that parsing gives the same number and nothing more exact. */
function printConstant(value: Literal['value']): string {
  if (typeof value !== 'number') return JSON.stringify(value) ?? 'undefined'
  const isLong = Number.isInteger(value) && Math.abs(value) > Number.MAX_SAFE_INTEGER && Math.abs(value) <= 2 ** 63
  return isLong ? String(BigInt(value)) : String(value)
}

const printers: {
  [Kind in Expression['kind']]: (node: Extract<Expression, { kind: Kind }>, indent: string) => string
} = {
  literal: ({ value, integer }) => (integer === undefined ? printConstant(value) : String(integer)),
  parameter: ({ name }) => name,
  identifier: ({ name }) => name,
  member: ({ object, name }, indent) => `${printPrimary(object, indent)}.${name}`,
  index: ({ object, index }, indent) => `${printPrimary(object, indent)}[${printExpression(index, indent)}]`,
  unary: ({ operator, operand }, indent) =>
    // The blank keeps `- -1` from becoming a comment.
    operator === '-' && operand.kind === 'literal' && typeof operand.value === 'number'
      ? `-${printExpression(operand, indent)}`
      : `(${operator} ${printExpression(operand, indent)})`,
  binary: ({ operator, left, right }, indent) =>
    `(${printExpression(left, indent)} ${operator} ${printExpression(right, indent)})`,
  logical: printLogical,
  coalesce: ({ left, right }, indent) => `(${printExpression(left, indent)} ?? ${printExpression(right, indent)})`,
  conditional: ({ condition, consequent, alternative }, indent) =>
    `(${[condition, consequent].map(part => printExpression(part, indent)).join(' ? ')} : ` +
    `${printExpression(alternative, indent)})`,
  between: ({ not, operand, low, high }, indent) =>
    `(${printExpression(operand, indent)} ${not ? 'NOT ' : ''}BETWEEN ${printExpression(low, indent)} AND ` +
    `${printExpression(high, indent)})`,
  in: ({ not, operand, items }, indent) =>
    `(${printExpression(operand, indent)} ${not ? 'NOT ' : ''}IN (${printList(items, indent)}))`,
  like: ({ not, operand, pattern, escapeCharacter }, indent) =>
    `(${printExpression(operand, indent)} ${not ? 'NOT ' : ''}LIKE ${printExpression(pattern, indent)}${
      escapeCharacter === undefined ? '' : ` ESCAPE ${JSON.stringify(escapeCharacter)}`
    })`,
  array: ({ items }, indent) => `[${printList(items, indent)}]`,
  object: ({ properties }, indent) =>
    `{${properties.map(({ name, value }) => `${JSON.stringify(name)}: ${printExpression(value, indent)}`).join(', ')}}`,
  call: (node, indent) => `${node.isUserDefined ? 'udf.' : ''}${node.name}(${printList(node.arguments, indent)})`,
  subquery: ({ form, query }, indent) => `${form === 'SCALAR' ? '' : form}${printSubquery(query, indent)}`,
  let: ({ name, value, body }, indent) =>
    `(LET ${name} = ${printExpression(value, indent)} IN ${printExpression(body, indent)})`,
}

export function printExpression(node: Expression, indent = ''): string {
  return (printers[node.kind] as (node: Expression, indent: string) => string)(node, indent)
}

function printList(items: readonly Expression[], indent: string): string {
  return items.map(item => printExpression(item, indent)).join(', ')
}

/** The operand of a dot or bracket: `-1.x` and `1.x` would be parsed differently. */
function printPrimary(node: Expression, indent: string): string {
  const printed = printExpression(node, indent)
  const isNumber = node.kind === 'literal' || node.kind === 'unary'
  return isNumber && !printed.startsWith('(') ? `(${printed})` : printed
}

function printLogical({ operator, operands }: Logical, indent: string): string {
  const printed = operands.map(operand => printExpression(operand, indent))
  if (printed.length > nestedChainTermsMax) return `(${printed.join(` ${operator} `)})`
  return printed.reduce((left, right) => `(${left} ${operator} ${right})`)
}
