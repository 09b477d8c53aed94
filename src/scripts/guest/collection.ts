/**
 * The collection object of scripts: calls that read and write documents, with results in callbacks.
 *
 * Error texts are the service's. This function is sent to the sandbox as text. It may refer only to its
 * parameters and to the language's built-ins.
 */

import type { GuestHost } from './environment.ts'

export type Complete = (error: unknown, body?: string, options?: Record<string, unknown>) => void
export type Callback = (...parts: unknown[]) => unknown
type Options = Record<string, unknown>

export interface CollectionTools {
  readonly collection: Record<string, unknown>
  /** Makes a call. Returns false if it is not accepted. */
  send(kind: string, payload: object, complete: Complete): boolean
  fail(number: number, text: string): Error
  readArguments(
    options: unknown,
    callback: unknown,
  ): { readonly options: Options; readonly callback: Callback | undefined }
}

export interface Links {
  /** Made of `_rid`s, with a slash at the end. */
  readonly self: string
  /** Made of names, without a slash at the end. */
  readonly alt: string
}

export function createCollection(
  host: Pick<GuestHost, 'send' | 'newId'>,
  links: Links,
  waiting: Complete[],
): CollectionTools {
  const fail = (number: number, text: string): Error =>
    new (Error as unknown as new (number: number, text: string) => Error)(number, text)

  const send = (kind: string, payload: object, complete: Complete): boolean => {
    if (!host.send(kind, JSON.stringify(payload))) return false
    waiting.push(complete)
    return true
  }

  const readArguments: CollectionTools['readArguments'] = (options, callback) => {
    if (callback === undefined && typeof options === 'function') return { options: {}, callback: options as Callback }
    if (options !== undefined && typeof options !== 'object') {
      throw fail(400, `The "options" parameter must be of type "object". Actual type is: "${typeof options}".`)
    }
    if (callback !== undefined && typeof callback !== 'function') {
      throw fail(400, `The "callback" parameter must be of type "function". Actual type is: "${typeof callback}".`)
    }
    return { options: (options as Options | null | undefined) ?? {}, callback: callback as Callback | undefined }
  }

  const checkCount = (name: string, needed: number, given: number): void => {
    if (given < needed) {
      const found = `but was called with ${given} argument(s).`
      throw fail(400, `The function "${name}" requires at least ${needed} argument(s) ${found}`)
    }
  }

  const outside = (link: string): Error =>
    fail(
      400,
      'Function is not allowed to operate on resources outside current collection. Make sure that the link provided, ' +
        `"${link}", belongs to current collection.`,
    )

  const bare = (link: string): string => (link.endsWith('/') ? link.slice(0, -1) : link)
  const isPath = (parts: readonly string[], kinds: readonly string[]): boolean =>
    parts.length === kinds.length * 2 && kinds.every((kind, index) => parts[index * 2]!.toLowerCase() === kind)

  const checkCollectionLink = (link: unknown): void => {
    if (typeof link !== 'string' || !isPath(bare(link).split('/'), ['dbs', 'colls'])) {
      throw fail(400, `Invalid collection link: "${String(link)}".`)
    }
    if (bare(link) !== bare(links.self) && bare(link) !== bare(links.alt)) throw outside(link)
  }

  const documentOf = (link: unknown): object => {
    const parts = typeof link === 'string' ? bare(link).split('/') : []
    if (!isPath(parts, ['dbs', 'colls', 'docs'])) throw fail(400, `Invalid document link: "${String(link)}".`)
    const parent = parts.slice(0, 4).join('/')
    if (parent === bare(links.self)) return { rid: parts[5] }
    if (parent === bare(links.alt)) return { id: parts[5] }
    throw outside(link as string)
  }

  /** Without a callback, an error is thrown and ends the script. */
  const toCallback =
    (callback: Callback | undefined, hasResource = true): Complete =>
    (error, body, options) => {
      if (error !== undefined) {
        if (callback === undefined) throw error
        callback(error)
      } else if (callback !== undefined && hasResource) {
        callback(undefined, body === undefined ? undefined : JSON.parse(body), options)
      } else callback?.(undefined, options)
    }

  const paged = (options: Options): object => {
    const { pageSize, continuation } = options
    return { pageSize: pageSize || 100, ...(continuation ? { continuation: String(continuation) } : {}) }
  }

  const condition = ({ etag }: Options): object => (etag ? { etag: String(etag) } : {})

  /** Adds an id to a body without one; the script's own object is not changed. */
  const bodyOf = (body: unknown, { disableAutomaticIdGeneration }: Options): string => {
    if (body === null || (typeof body !== 'object' && typeof body !== 'string')) {
      throw fail(400, 'The document body must be an object or a string representing a JSON-serialized object.')
    }
    const document = typeof body === 'string' ? JSON.parse(body) : body
    const isComplete = disableAutomaticIdGeneration === true || Boolean(document?.id)
    if (isComplete) return typeof body === 'string' ? body : JSON.stringify(body)
    return JSON.stringify({ ...document, id: host.newId() })
  }

  const write =
    (name: string, kind: string) =>
    (...parts: unknown[]): boolean => {
      checkCount(name, 2, parts.length)
      const { options, callback } = readArguments(parts[2], parts[3])
      const body = bodyOf(parts[1], options)
      checkCollectionLink(parts[0])
      return send(kind, { body, ...condition(options) }, toCallback(callback))
    }

  const collection = {
    getSelfLink: () => links.self,
    getAltLink: () => links.alt,

    readDocument: (...parts: unknown[]) => {
      checkCount('readDocument', 1, parts.length)
      const document = documentOf(parts[0])
      const { options, callback } = readArguments(parts[1], parts[2])
      const { ifNoneMatch } = options
      return send(
        'read',
        { document, ...(ifNoneMatch ? { ifNoneMatch: String(ifNoneMatch) } : {}) },
        toCallback(callback),
      )
    },

    readDocuments: (...parts: unknown[]) => {
      checkCount('readDocuments', 1, parts.length)
      checkCollectionLink(parts[0])
      const { options, callback } = readArguments(parts[1], parts[2])
      return send('readFeed', paged(options), toCallback(callback))
    },

    queryDocuments: (...parts: unknown[]) => {
      checkCount('queryDocuments', 2, parts.length)
      const [link, query] = parts
      checkCollectionLink(link)
      if (typeof query !== 'string' && typeof query !== 'object') {
        const found = `Actual type is: "${typeof query}".`
        throw fail(400, `The "filterQuery" parameter must be of type "string" or "object". ${found}`)
      }
      const { options, callback } = readArguments(parts[2], parts[3])
      const spec = JSON.stringify(typeof query === 'string' ? { query } : query)
      return send('query', { spec, ...paged(options) }, toCallback(callback))
    },

    createDocument: write('createDocument', 'create'),
    upsertDocument: write('upsertDocument', 'upsert'),

    replaceDocument: (...parts: unknown[]) => {
      checkCount('replaceDocument', 2, parts.length)
      const document = documentOf(parts[0])
      const body = typeof parts[1] === 'string' ? parts[1] : (JSON.stringify(parts[1]) ?? '')
      const { options, callback } = readArguments(parts[2], parts[3])
      return send('replace', { document, body, ...condition(options) }, toCallback(callback))
    },

    patchDocument: (...parts: unknown[]) => {
      checkCount('patchDocument', 2, parts.length)
      const [link, operations] = parts
      if (operations === null || typeof operations !== 'object') {
        throw fail(400, 'The patch specification must be an object or an array.')
      }
      const document = documentOf(link)
      const { options, callback } = readArguments(parts[2], parts[3])
      const payload = { document, operations: JSON.stringify(operations), ...condition(options) }
      return send('patch', payload, toCallback(callback))
    },

    deleteDocument: (...parts: unknown[]) => {
      checkCount('deleteDocument', 1, parts.length)
      const document = documentOf(parts[0])
      const { options, callback } = readArguments(parts[1], parts[2])
      return send('delete', { document, ...condition(options) }, toCallback(callback, false))
    },
  }
  return { collection, send, fail, readArguments }
}
