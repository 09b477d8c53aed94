/**
 * Parses scalar expressions.
 *
 * Precedence from loosest to tightest, as in the service's own grammar (which differs in a few points from
 * the published ANTLR grammar):
 *
 *   c ? a : b                   right-associative
 *   a ?? b                      right-associative
 *   x [NOT] BETWEEN a AND b     not chained: `x BETWEEN 1 AND 2 AND y` needs parentheses, in the service too
 *   OR, then AND                flat lists
 *   [NOT] IN, [NOT] LIKE
 *   = != <> < <= > >= << >> >>> left-associative
 *   ||
 *   + - & ^ |                   one level, left-associative
 *   * / %
 *   - + ~ NOT                   so `NOT a = b` is `(NOT a) = b`
 *   .name [index]
 */

import { queryDepthMax } from '../../base/limits.ts'
import type {
  BinaryOperator,
  Expression,
  Index,
  Literal,
  Logical,
  MemberAccess,
  Query,
  SubqueryForm,
  UnaryOperator,
} from './ast.ts'
import type { Token } from './token.ts'
import { spanOf, TokenStream, tooDeep } from './token-stream.ts'

interface BinaryLevel {
  readonly level: number
  readonly operator: BinaryOperator
}

const binaryLevels = new Map<string, BinaryLevel>()
const operatorsByLevel = [
  ['=', '!=', '<', '<=', '>', '>=', '<<', '>>', '>>>'],
  ['||'],
  ['+', '-', '&', '^', '|'],
  ['*', '/', '%'],
] as const
for (const [level, operators] of operatorsByLevel.entries()) {
  for (const operator of operators) binaryLevels.set(operator, { level, operator })
}
binaryLevels.set('<>', { level: 0, operator: '!=' })

const unaryOperators: ReadonlySet<string> = new Set<UnaryOperator>(['-', '+', '~', 'NOT'])

const literals = new Map<string, Literal['value']>([
  ['true', true],
  ['false', false],
  ['null', null],
  ['undefined', undefined],
])

/** Numbers that JSON does not have. They are names elsewhere: `c.Infinity` is a property. */
const nonFinite = new Map<string, number>([
  ['NaN', Number.NaN],
  ['Infinity', Number.POSITIVE_INFINITY],
])

/** EXISTS and ARRAY are reserved words; the others are names that start a subquery if `(SELECT` follows. */
const subqueryForms = new Map<string, SubqueryForm>([
  ['EXISTS', 'EXISTS'],
  ['ARRAY', 'ARRAY'],
])
const subqueryWords: ReadonlySet<string> = new Set<SubqueryForm>(['ALL', 'FIRST', 'LAST'])

function literalOf(token: Token): Literal {
  const literal = { kind: 'literal', value: token.value, span: spanOf(token) } as const
  return token.integer === undefined ? literal : { ...literal, integer: token.integer }
}

export abstract class ExpressionParser extends TokenStream {
  protected abstract query(): Query

  expression(): Expression {
    return this.nested(() => this.#conditional())
  }

  expressionList(): Expression[] {
    const items: Expression[] = []
    do items.push(this.#loneLiteral() ?? this.expression())
    while (this.accept(','))
    return items
  }

  /** A shortcut for the long lists of literals after IN in generated queries. */
  #loneLiteral(): Literal | undefined {
    const token = this.current
    if (token.type !== 'number' && token.type !== 'string') return undefined
    const following = this.following.type
    if (following !== ',' && following !== ')' && following !== ']') return undefined
    this.advance()
    return literalOf(token)
  }

  #conditional(): Expression {
    const condition = this.#coalesce()
    if (!this.accept('?')) return condition
    const consequent = this.expression()
    this.expect(':')
    const alternative = this.expression()
    const span = this.spanFrom(condition.span.start)
    return { kind: 'conditional', condition, consequent, alternative, span }
  }

  #coalesce(): Expression {
    const left = this.#logicalOrBetween()
    if (!this.accept('??')) return left
    const right = this.nested(() => this.#coalesce())
    return { kind: 'coalesce', left, right, span: this.spanFrom(left.span.start) }
  }

  #logicalOrBetween(): Expression {
    const operand = this.#binary(0)
    const not = this.is('NOT') && this.following.type === 'BETWEEN'
    if (!not && !this.is('BETWEEN')) return this.#or(operand)
    if (not) this.advance()
    this.advance()
    const low = this.#binary(0)
    this.expect('AND')
    const high = this.#binary(0)
    return { kind: 'between', not, operand, low, high, span: this.spanFrom(operand.span.start) }
  }

  #or(operand: Expression): Expression {
    const first = this.#and(this.#predicate(operand))
    if (!this.is('OR')) return first
    const operands = [first]
    while (this.accept('OR')) operands.push(this.#and(this.#predicate(this.#binary(0))))
    return this.#chain('OR', operands)
  }

  #and(first: Expression): Expression {
    if (!this.is('AND')) return first
    const operands = [first]
    while (this.accept('AND')) operands.push(this.#predicate(this.#binary(0)))
    return this.#chain('AND', operands)
  }

  #chain(operator: Logical['operator'], operands: Expression[]): Expression {
    const first = operands[0] as Expression
    const span = this.spanFrom(first.span.start)
    const isNested = first.kind === 'logical' && first.operator === operator
    const flat = isNested ? first.operands.concat(operands.slice(1)) : operands
    return { kind: 'logical', operator, operands: flat, span }
  }

  #predicate(operand: Expression): Expression {
    const next = this.is('NOT') ? this.following.type : this.current.type
    if (next !== 'IN' && next !== 'LIKE') return operand
    const not = this.accept('NOT')
    this.advance()
    const { start } = operand.span
    if (next === 'IN') {
      this.expect('(')
      const items = this.expressionList()
      this.expect(')')
      return { kind: 'in', not, operand, items, span: this.spanFrom(start) }
    }
    const pattern = this.#binary(0)
    const escapeCharacter = this.accept('ESCAPE') ? (this.expect('string').value as string) : undefined
    return { kind: 'like', not, operand, pattern, escapeCharacter, span: this.spanFrom(start) }
  }

  /** Precedence climbing. A loop, not recursion, handles chains of one level. */
  #binary(minimum: number): Expression {
    let left = this.#unary()
    for (let height = 0; ; height += 1) {
      if (height > queryDepthMax) throw tooDeep(this.text, left.span)
      const found = binaryLevels.get(this.current.type)
      if (found === undefined || found.level < minimum) return left
      this.advance()
      const right = this.#binary(found.level + 1)
      left = { kind: 'binary', operator: found.operator, left, right, span: this.spanFrom(left.span.start) }
    }
  }

  #unary(): Expression {
    const { type, start } = this.current
    if (!unaryOperators.has(type)) return this.#postfix()
    this.advance()
    const operand = this.nested(() => this.#unary())
    return { kind: 'unary', operator: type as UnaryOperator, operand, span: this.spanFrom(start) }
  }

  #postfix(): Expression {
    let object = this.#primary()
    for (let height = 0; ; height += 1) {
      if (height > queryDepthMax) throw tooDeep(this.text, object.span)
      if (this.is('.')) object = this.#member(object)
      else if (this.is('[')) object = this.#index(object)
      else return object
    }
  }

  #member(object: Expression): MemberAccess {
    this.advance()
    const name = this.expectName()
    return { kind: 'member', object, name, span: this.spanFrom(object.span.start) }
  }

  #index(object: Expression): Index {
    this.advance()
    const index = this.expression()
    this.expect(']')
    return { kind: 'index', object, index, span: this.spanFrom(object.span.start) }
  }

  #primary(): Expression {
    const token = this.current
    const { type } = token
    if (type === 'identifier') return this.#word()
    if (type === 'number' || type === 'string') {
      this.advance()
      return literalOf(token)
    }
    if (type === 'parameter') {
      this.advance()
      return { kind: 'parameter', name: token.value as string, span: spanOf(token) }
    }
    if (literals.has(type)) {
      this.advance()
      return { kind: 'literal', value: literals.get(type), span: spanOf(token) }
    }
    if (type === '(') return this.#parenthesized()
    if (type === '[') return this.#array()
    if (type === '{') return this.#object()
    if (type === 'udf') return this.#userDefinedCall()
    const form = subqueryForms.get(type)
    if (form === undefined) throw this.unexpected()
    return this.#subquery(form)
  }

  /** A name: an alias, a call, a LET, or a word that starts a subquery. */
  #word(): Expression {
    const { value, start } = this.current
    const name = value as string
    const following = this.following.type
    if (following === '(') {
      const word = name.toUpperCase()
      this.advance()
      if (subqueryWords.has(word) && this.following.type === 'SELECT') {
        return this.#subqueryBody(word as SubqueryForm, start)
      }
      return this.#call(name, false, start)
    }
    this.advance()
    if (nonFinite.has(name)) return { kind: 'literal', value: nonFinite.get(name), span: this.spanFrom(start) }
    if (following === 'identifier' && name.toUpperCase() === 'LET') return this.#let(start)
    return { kind: 'identifier', name, span: this.spanFrom(start) }
  }

  #let(start: number): Expression {
    const name = this.expectName()
    this.expect('=')
    const value = this.#binary(0)
    this.expect('IN')
    const body = this.nested(() => this.#binary(0))
    return { kind: 'let', name, value, body, span: this.spanFrom(start) }
  }

  #userDefinedCall(): Expression {
    const { start } = this.advance()
    this.expect('.')
    const name = this.expectName()
    return this.#call(name, true, start)
  }

  #call(name: string, isUserDefined: boolean, start: number): Expression {
    this.expect('(')
    const items = this.is(')') ? [] : this.expressionList()
    this.expect(')')
    return { kind: 'call', name, isUserDefined, arguments: items, span: this.spanFrom(start) }
  }

  #parenthesized(): Expression {
    if (this.following.type === 'SELECT') return this.#subqueryBody('SCALAR', this.current.start)
    this.advance()
    const inner = this.expression()
    this.expect(')')
    return inner
  }

  #subquery(form: SubqueryForm): Expression {
    const { start } = this.advance()
    if (!this.is('(') || this.following.type !== 'SELECT') throw this.unexpected()
    return this.#subqueryBody(form, start)
  }

  #subqueryBody(form: SubqueryForm, start: number): Expression {
    this.expect('(')
    const query = this.nested(() => this.query())
    this.expect(')')
    return { kind: 'subquery', form, query, span: this.spanFrom(start) }
  }

  #array(): Expression {
    const { start } = this.advance()
    const items = this.is(']') ? [] : this.expressionList()
    this.expect(']')
    return { kind: 'array', items, span: this.spanFrom(start) }
  }

  #object(): Expression {
    const { start } = this.advance()
    const properties: { name: string; value: Expression }[] = []
    if (!this.is('}')) {
      do properties.push(this.#property())
      while (this.accept(','))
    }
    this.expect('}')
    return { kind: 'object', properties, span: this.spanFrom(start) }
  }

  /** A key is a string or any word, also a reserved one. */
  #property(): { name: string; value: Expression } {
    const key = this.current
    if (typeof key.value !== 'string' || key.type === 'parameter') throw this.unexpected()
    this.advance()
    this.expect(':')
    return { name: key.value, value: this.expression() }
  }
}
