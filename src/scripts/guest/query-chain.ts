/**
 * Queries written as functions: `__.filter(…)`, `__.chain().filter(…).map(…).value(…)` and similar.
 *
 * The service translates the functions to SQL where it can. Here they run as they are, over the documents of
 * the partition key, read in batches. Every page of results except the last is full, whatever a filter drops.
 * A sort needs all documents before the next function can run.
 *
 * This function is sent to the sandbox as text. It may refer only to its parameters and to the language's
 * built-ins.
 */

import type { Callback, CollectionTools } from './collection.ts'
import type { Message } from './message.ts'

type Feed = unknown[]

interface Stage {
  readonly needsAll: boolean
  readonly apply: (feed: Feed) => Feed
}

export function defineQueries(
  { collection, send, fail, readArguments }: CollectionTools,
  getResponse: (() => Message) | undefined,
): void {
  const pageSizeDefault = 100
  const pageSizeMax = 1000

  const rank = (value: unknown): number =>
    value === null ? 1 : ['undefined', '', 'boolean', 'number', 'string', 'object'].indexOf(typeof value)

  /** Compares like ORDER BY: by type, then by value. */
  const compare = (a: unknown, b: unknown): number => {
    const byType = rank(a) - rank(b)
    if (byType !== 0 || typeof a === 'object') return byType
    return (a as number) < (b as number) ? -1 : (a as number) > (b as number) ? 1 : 0
  }

  const checkFunction = (value: unknown): Callback => {
    if (typeof value !== 'function') throw fail(400, 'The predicate/transform function must be provided.')
    return value as Callback
  }

  const sorted = (direction: number) => (parts: unknown[]) => {
    const keyOf = checkFunction(parts.shift())
    const apply = (feed: Feed) =>
      feed
        .map(document => ({ document, key: keyOf(document) }))
        .sort((a, b) => direction * compare(a.key, b.key))
        .map(({ document }) => document)
    return { needsAll: true, apply }
  }

  /** Each takes its own arguments from the front of the list and leaves options and callback. */
  const stages: Record<string, (parts: unknown[]) => Stage> = {
    filter: parts => {
      const isWanted = checkFunction(parts.shift())
      return { needsAll: false, apply: feed => feed.filter(document => isWanted(document)) }
    },
    map: parts => {
      const transform = checkFunction(parts.shift())
      return { needsAll: false, apply: feed => feed.map(document => transform(document)) }
    },
    pluck: parts => {
      const name = parts.shift()
      if (typeof name !== 'string' || name === '') {
        throw fail(400, 'The property name must be a string and cannot be empty.')
      }
      return { needsAll: false, apply: feed => feed.map(document => (document as Record<string, unknown>)[name]) }
    },
    flatten: parts => {
      const isShallow = typeof parts[0] === 'boolean' ? parts.shift() : false
      return { needsAll: false, apply: feed => feed.flat(isShallow ? 1 : Number.POSITIVE_INFINITY) }
    },
    unwind: parts => {
      const select = parts.shift()
      if (!select) throw fail(400, 'When using "unwind", "collectionSelector" must be used.')
      if (typeof select !== 'function') throw fail(400, 'When using "unwind", "collectionSelector" must be a function.')
      if (select.length !== 1) throw fail(400, '"collectionSelector" requires one argument.')
      const combine = typeof parts[0] === 'function' ? (parts.shift() as Callback) : undefined
      if (combine !== undefined && combine.length < 2) throw fail(400, '"resultSelector" requires two arguments.')
      const apply = (feed: Feed) =>
        feed.flatMap(outer => {
          const inner = select(outer) as Feed
          return combine === undefined ? inner : inner.map(each => combine(outer, each))
        })
      return { needsAll: false, apply }
    },
    sortBy: sorted(1),
    sortByDescending: sorted(-1),
  }

  /** Where a result continues: after `skip` rows of the batch at the token, or of all rows if sorted. */
  const readPosition = (continuation: unknown): { token?: string; skip: number } => {
    try {
      const { token, skip } = continuation ? JSON.parse(String(continuation)) : { token: undefined, skip: 0 }
      if (Number.isInteger(skip)) return typeof token === 'string' ? { token, skip } : { skip }
    } catch {}
    throw fail(400, 'The continuation token is not one of this function.')
  }

  const toResponse: Callback = (error, feed) => {
    if (error !== undefined) throw error
    if (getResponse === undefined) {
      const where = 'for scenarios, such as pre-trigger, when response object is not available.'
      throw fail(400, `The callback function must be provided ${where}`)
    }
    getResponse().appendBody!(JSON.stringify(feed))
  }

  const run = (chain: readonly Stage[], first: unknown, second: unknown): { isAccepted: boolean } => {
    const { options, callback = toResponse } = readArguments(first, second)
    const pageSize = Number(options.pageSize ?? 0)
    const wanted = pageSize > 0 ? pageSize : pageSize === 0 ? pageSizeDefault : pageSizeMax
    const position = readPosition(options.continuation)
    const split = chain.findIndex(stage => stage.needsAll)
    const streaming = split === -1 ? chain : chain.slice(0, split)
    let rows: Feed = []
    let { token, skip } = position

    const read = (): boolean => {
      const page = {
        spec: '{"query":"SELECT * FROM root"}',
        pageSize: Math.min(pageSizeMax, Math.max(wanted, pageSizeDefault)),
      }
      return send('query', token === undefined ? page : { ...page, continuation: token }, receive)
    }
    const end = (feed: Feed, next: object | undefined, response: object): void => {
      const continuation = next === undefined ? {} : { continuation: JSON.stringify(next) }
      callback(undefined, feed, { ...response, ...continuation })
    }

    function receive(error: unknown, body?: string, answer: Record<string, unknown> = {}): void {
      if (error !== undefined) {
        callback(error)
        return
      }
      const { continuation, ...response } = answer
      const following = continuation === undefined ? undefined : String(continuation)
      let feed: Feed
      try {
        feed = streaming.reduce((input, stage) => stage.apply(input), JSON.parse(body ?? '[]') as Feed)
        if (split !== -1) rows = rows.concat(feed)
        if (split !== -1 && following === undefined) {
          const all = chain.slice(split).reduce((input, stage) => stage.apply(input), rows)
          const isMore = all.length > skip + wanted
          end(all.slice(skip, skip + wanted), isMore ? { skip: skip + wanted } : undefined, response)
          return
        }
      } catch (thrown) {
        callback(thrown)
        return
      }
      if (split !== -1) {
        token = following
        if (!read()) callback(fail(408, 'There is not enough time left to read all documents that are to be sorted.'))
        return
      }
      const room = wanted - rows.length
      const taken = feed.slice(skip, skip + room)
      rows = rows.concat(taken)
      if (feed.length > skip + taken.length) {
        end(rows, { ...(token === undefined ? {} : { token }), skip: skip + taken.length }, response)
        return
      }
      token = following
      skip = 0
      if (token === undefined) end(rows, undefined, response)
      else if (rows.length >= wanted || !read()) end(rows, { token, skip }, response)
    }

    return { isAccepted: read() }
  }

  /** Drops the collection, which may come before all other arguments. */
  const withoutCollection = (parts: unknown[]): unknown[] => {
    const [first] = parts
    const isCollection = first === collection || (typeof first === 'object' && first !== null && 'getSelfLink' in first)
    return isCollection || (first === undefined && parts.length > 1) ? parts.slice(1) : parts
  }

  const createChain = (chain: readonly Stage[]): object => {
    const query: Record<string, unknown> = {
      isAccepted: true,
      value: (options: unknown, callback: unknown) => run(chain, options, callback),
    }
    for (const [name, create] of Object.entries(stages)) {
      query[name] = (...parts: unknown[]) => {
        const rest = withoutCollection(parts)
        const stage = create(rest)
        if (rest.some(part => typeof part === 'function')) {
          throw fail(400, 'When using "chain", the callback parameter can only be provided on the "value" function.')
        }
        if (rest.some(part => part !== undefined)) {
          throw fail(400, 'When using "chain", options can only be provided on the call to the "value" function')
        }
        return createChain([...chain, stage])
      }
    }
    return query
  }

  for (const [name, create] of Object.entries(stages)) {
    collection[name] = (...parts: unknown[]) => {
      const rest = withoutCollection(parts)
      const stage = create(rest)
      return run([stage], rest[0], rest[1])
    }
  }
  collection.chain = () => createChain([])
}
