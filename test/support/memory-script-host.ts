/** A script host over a list of documents, for sandbox tests; without transactions and partition keys. */

import type { DocumentReference, HostAnswer, HostCall, ScriptHost } from '../../src/scripts/host.ts'

interface Document {
  readonly id: string
  readonly [name: string]: unknown
}

export const testLinks = { self: 'dbs/ZGI=/colls/Y29sbA==/', alt: 'dbs/shop/colls/carts' }

export class MemoryScriptHost implements ScriptHost {
  readonly documents = new Map<string, Document>()
  readonly calls: HostCall[] = []

  constructor(documents: readonly { readonly id: string; readonly [name: string]: unknown }[] = []) {
    for (const document of documents) this.#put(document)
  }

  async call(call: HostCall): Promise<HostAnswer> {
    this.calls.push(call)
    if (call.kind === 'query' || call.kind === 'readFeed') return this.#feed(call)
    if (call.kind === 'create' || call.kind === 'upsert') {
      const document = JSON.parse(call.body)
      if (call.kind === 'create' && this.documents.has(document.id)) {
        return refusal(409, 'Resource with specified id or name already exists.')
      }
      return success(this.#put(document), 201)
    }
    const found = this.#find(call.document)
    if (found === undefined) return refusal(404, 'Resource Not Found')
    if (call.kind === 'read') {
      return call.ifNoneMatch === found._etag ? { ok: { options: { notModified: true } } } : success(found, 200)
    }
    if (call.etag !== undefined && call.etag !== found._etag) {
      return refusal(412, 'One of the specified pre-condition is not met')
    }
    if (call.kind === 'delete') {
      this.documents.delete(found.id)
      return { ok: { options: { statusCode: 204 } } }
    }
    if (call.kind === 'patch') return success(this.#put({ ...found, patched: JSON.parse(call.operations) }), 200)
    return success(this.#put(JSON.parse(call.body)), 200)
  }

  #put(document: Document): Document {
    const stored = {
      ...document,
      _self: `${testLinks.self}docs/${ridOf(document.id)}/`,
      _etag: `e${this.calls.length}`,
    }
    this.documents.set(document.id, stored)
    return stored
  }

  #find(reference: DocumentReference): Document | undefined {
    if ('id' in reference) return this.documents.get(reference.id)
    return [...this.documents.values()].find(({ id }) => ridOf(id) === reference.rid)
  }

  #feed({
    pageSize,
    continuation,
  }: {
    readonly pageSize: number
    readonly continuation: string | undefined
  }): HostAnswer {
    const start = Number(continuation ?? 0)
    const all = [...this.documents.values()]
    const body = JSON.stringify(all.slice(start, start + pageSize))
    const isMore = all.length > start + pageSize
    return { ok: { body, options: isMore ? { continuation: String(start + pageSize) } : {} } }
  }
}

function ridOf(id: string): string {
  return Buffer.from(String(id)).toString('base64').replaceAll('/', '-')
}

function success(document: Document, statusCode: number): HostAnswer {
  return { ok: { body: JSON.stringify(document), options: { statusCode } } }
}

function refusal(number: number, text: string): HostAnswer {
  return { error: { number, body: JSON.stringify({ Errors: [text] }) } }
}
