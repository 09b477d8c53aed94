/** Parses the clauses of a query into a syntax tree. parse-expression.ts parses expressions. */

import { RequestError } from '../../base/error.ts'
import { KiB, queryDepthMax } from '../../base/limits.ts'
import type {
  Count,
  Expression,
  FromCollection,
  FromSource,
  OrderBy,
  OrderItem,
  Query,
  SelectItem,
  Selection,
} from './ast.ts'
import { ExpressionParser } from './parse-expression.ts'
import { spanOf, tooDeep } from './token-stream.ts'
import { checkDepth } from './walk.ts'

/** The service's limit for the text of a query. The parser's work is linear in it. */
export const queryTextBytesMax = 512 * KiB

export function parseQuery(text: string): Query {
  if (Buffer.byteLength(text) > queryTextBytesMax) {
    throw new RequestError('too_large', `The query text is longer than ${queryTextBytesMax} bytes.`)
  }
  const query = new QueryParser(text).program()
  checkDepth(query, text)
  return query
}

class QueryParser extends ExpressionParser {
  program(): Query {
    const query = this.query()
    if (!this.is('end')) throw this.unexpected()
    return query
  }

  protected override query(): Query {
    const { start } = this.expect('SELECT')
    const distinct = this.accept('DISTINCT')
    const top = this.accept('TOP') ? this.#top() : undefined
    const selection = this.#selection()
    const sources = this.accept('FROM') ? this.#sources() : []
    const where = this.accept('WHERE') ? this.expression() : undefined
    const groupBy = this.#acceptBy('GROUP') ? this.expressionList() : undefined
    const orderBy = this.#orderBy()
    let offset: Count | undefined
    let limit: Count | undefined
    if (this.accept('OFFSET')) {
      offset = this.#integer()
      this.expect('LIMIT')
      limit = this.#integer()
    }
    const span = this.spanFrom(start)
    return { distinct, top, selection, sources, where, groupBy, orderBy, offset, limit, span }
  }

  #acceptBy(word: 'GROUP' | 'ORDER'): boolean {
    if (!this.accept(word)) return false
    this.expect('BY')
    return true
  }

  #selection(): Selection {
    const { start } = this.current
    if (this.accept('*')) return { kind: 'star', span: this.spanFrom(start) }
    if (this.accept('VALUE')) return { kind: 'value', expression: this.expression(), span: this.spanFrom(start) }
    const items = [this.#selectItem()]
    while (this.accept(',')) items.push(this.#selectItem())
    return { kind: 'list', items, span: this.spanFrom(start) }
  }

  #selectItem(): SelectItem {
    const { start } = this.current
    const expression = this.expression()
    return { expression, alias: this.#alias(), span: this.spanFrom(start) }
  }

  #alias(): string | undefined {
    return this.accept('AS') || this.is('identifier') ? this.expectName() : undefined
  }

  #sources(): FromSource[] {
    const sources = [this.#source()]
    while (this.accept('JOIN')) sources.push(this.#source())
    return sources
  }

  #source(): FromSource {
    const { start } = this.current
    if (this.is('identifier') && this.following.type === 'IN') {
      const alias = this.expectName()
      this.advance()
      return { iterates: true, alias, collection: this.#collection(), span: this.spanFrom(start) }
    }
    const collection = this.#collection()
    return { iterates: false, alias: this.#alias(), collection, span: this.spanFrom(start) }
  }

  #collection(): FromCollection {
    const { start } = this.current
    if (this.accept('(')) {
      const query = this.nested(() => this.query())
      this.expect(')')
      return { kind: 'query', query, span: this.spanFrom(start) }
    }
    let expression: Expression = { kind: 'identifier', name: this.expectName(), span: this.spanFrom(start) }
    for (let height = 0; ; height += 1) {
      if (height > queryDepthMax) throw tooDeep(this.text, expression.span)
      if (this.accept('.')) {
        expression = { kind: 'member', object: expression, name: this.expectName(), span: this.spanFrom(start) }
      } else if (this.accept('[')) {
        const token = this.current
        if (token.type !== 'string' && token.type !== 'number') throw this.unexpected()
        this.advance()
        this.expect(']')
        const index: Expression = { kind: 'literal', value: token.value, span: spanOf(token) }
        expression = { kind: 'index', object: expression, index, span: this.spanFrom(start) }
      } else {
        return { kind: 'path', expression, span: this.spanFrom(start) }
      }
    }
  }

  #orderBy(): OrderBy | undefined {
    const { start } = this.current
    if (!this.#acceptBy('ORDER')) return undefined
    // `ORDER BY rank` and `ORDER BY rank.x` sort by a property called rank. Only before a call it is the RANK
    // clause.
    const isRank = this.isWord('RANK') && this.following.type === 'identifier'
    if (isRank) this.advance()
    const items = [this.#orderItem(isRank)]
    while (this.accept(',')) items.push(this.#orderItem(isRank))
    return { isRank, items, span: this.spanFrom(start) }
  }

  #orderItem(isRank: boolean): OrderItem {
    const token = this.current
    const expression = this.expression()
    if (isRank && expression.kind !== 'call') throw this.unexpected(token)
    const direction = this.accept('ASC') ? 'ASC' : this.accept('DESC') ? 'DESC' : undefined
    return { expression, direction, span: this.spanFrom(token.start) }
  }

  #top(): Count {
    if (!this.is('number') && !this.is('parameter')) throw this.unexpected()
    return this.#count()
  }

  #integer(): Count {
    const token = this.current
    const count = this.#top()
    if (count.kind === 'count' && !count.isInteger) throw this.unexpected(token)
    return count
  }

  #count(): Count {
    const token = this.advance()
    const span = spanOf(token)
    if (token.type === 'parameter') return { kind: 'parameter', name: token.value as string, span }
    const written = this.text.slice(token.start, token.end)
    const isInteger = !written.includes('.') && !written.includes('e') && !written.includes('E')
    return { kind: 'count', value: token.value as number, isInteger, span }
  }
}
