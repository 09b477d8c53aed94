/** Parses the calls of a script. They are untrusted text: scripts can reach the function that sends them. */

import { pageItemsDefault, pageItemsMax } from '../base/limits.ts'
import type { DocumentReference, HostCall } from './host.ts'

class MalformedCall extends Error {}

type Fields = Readonly<Record<string, unknown>>

/** Undefined if it is not a valid call. */
export function toHostCall(kind: string, payload: string): HostCall | undefined {
  try {
    const fields = JSON.parse(payload)
    return typeof fields === 'object' && fields !== null ? readers.get(kind)?.(fields) : undefined
  } catch (error) {
    if (error instanceof MalformedCall || error instanceof SyntaxError) return undefined
    throw error
  }
}

const readers: ReadonlyMap<string, (fields: Fields) => HostCall> = new Map(
  Object.entries({
    read: fields => ({ kind: 'read', document: document(fields), ifNoneMatch: optionalText(fields.ifNoneMatch) }),
    readFeed: fields => ({ kind: 'readFeed', ...paged(fields) }),
    query: fields => ({ kind: 'query', spec: text(fields.spec), ...paged(fields) }),
    create: fields => ({ kind: 'create', body: text(fields.body) }),
    upsert: fields => ({ kind: 'upsert', body: text(fields.body), etag: optionalText(fields.etag) }),
    replace: fields => ({
      kind: 'replace',
      document: document(fields),
      body: text(fields.body),
      etag: optionalText(fields.etag),
    }),
    patch: fields => ({
      kind: 'patch',
      document: document(fields),
      operations: text(fields.operations),
      etag: optionalText(fields.etag),
    }),
    delete: fields => ({ kind: 'delete', document: document(fields), etag: optionalText(fields.etag) }),
  } satisfies Record<HostCall['kind'], (fields: Fields) => HostCall>),
)

function text(value: unknown): string {
  if (typeof value !== 'string') throw new MalformedCall()
  return value
}

function optionalText(value: unknown): string | undefined {
  return value === undefined ? undefined : text(value)
}

function document(fields: Fields): DocumentReference {
  const { rid, id } = (fields.document ?? {}) as Fields
  return rid === undefined ? { id: text(id) } : { rid: text(rid) }
}

/** A page size of -1 lets the server choose. */
function paged({ pageSize, continuation }: Fields) {
  const size = typeof pageSize === 'number' && pageSize >= 1 ? Math.floor(pageSize) : pageItemsDefault
  return { pageSize: Math.min(size, pageItemsMax), continuation: optionalText(continuation) }
}
