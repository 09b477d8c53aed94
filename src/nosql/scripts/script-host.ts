/** Answers the calls of a script from its transaction. Refusals that concern the script become answers. */

import { RequestError } from '../../base/error.ts'
import { itemBytesMax } from '../../base/limits.ts'
import { ShortWork } from '../../base/short-work.ts'
import type { DocumentReference, HostAnswer, HostCall, HostSuccess, ScriptHost } from '../../scripts/host.ts'
import { pageRu } from '../../units/cost.ts'
import type { ContainerDefinition } from '../definitions/container-definition.ts'
import { publicError } from '../http/error-map.ts'
import { outcomeError } from '../http/outcome-error.ts'
import type { Service } from '../http/request.ts'
import { readItemText } from '../items/item-body.ts'
import { parsePatch } from '../items/patch.ts'
import { shortJudge } from '../items/patch-condition.ts'
import { patchItemText } from '../items/patch-item.ts'
import { parseJson } from '../json/parse-json.ts'
import { findFunctions } from './query-functions.ts'
import { prepareScriptQuery, queryInScript } from './script-query.ts'
import type { ScriptTransaction, SeenItem } from './script-transaction.ts'

/** The signal ends a call that takes long. */
export function scriptHost(service: Service, transaction: ScriptTransaction, signal: AbortSignal): ScriptHost {
  return {
    async call(call): Promise<HostAnswer> {
      try {
        return { ok: await perform(service, transaction, call, signal) }
      } catch (error) {
        if (!(error instanceof RequestError)) throw error
        const { status, message } = publicError(error)
        const body = message.startsWith('{"errors":') ? message : JSON.stringify({ Errors: [message] })
        return { error: { number: status, body } }
      }
    },
  }
}

async function perform(
  service: Service,
  transaction: ScriptTransaction,
  call: HostCall,
  signal: AbortSignal,
): Promise<HostSuccess> {
  const { strict } = service
  switch (call.kind) {
    case 'read': {
      const item = await transaction.read(await idOf(transaction, call.document, signal))
      if (item === undefined) throw outcomeError('missing')
      if (call.ifNoneMatch !== undefined && isSameEtag(item, call.ifNoneMatch)) {
        return { options: { notModified: true, statusCode: 304 } }
      }
      return { body: item.text, options: { statusCode: 200 } }
    }
    case 'readFeed': {
      const { items, last } = await transaction.page(call.continuation ?? '', call.pageSize)
      const texts = items.map(({ text }) => text)
      transaction.charge(pageRu(texts.length, texts.join().length))
      return { body: `[${texts.join(',')}]`, options: last === undefined ? {} : { continuation: last } }
    }
    case 'query': {
      const { computedProperties = [] } = transaction.view.record.definition as ContainerDefinition
      const query = prepareScriptQuery(call.spec, computedProperties)
      const functions = await findFunctions(service, transaction.view, query.prepared)
      const { rows, continuation } = await queryInScript(service, transaction, query, { ...call, functions, signal })
      for (const row of rows) noteRow(transaction, row)
      return { body: `[${rows.join(',')}]`, options: continuation === undefined ? {} : { continuation } }
    }
    case 'create':
    case 'upsert': {
      const item = parseItem(call.body, strict)
      const written = await transaction.write(call.kind, item, call.kind === 'upsert' ? call.etag : undefined)
      return { body: written.item.text, options: { statusCode: written.isNew ? 201 : 200 } }
    }
    case 'replace': {
      const id = await idOf(transaction, call.document, signal)
      const item = parseItem(call.body, strict)
      const written = await transaction.replace(id, item, call.etag)
      return { body: written.item.text, options: { statusCode: 200 } }
    }
    case 'patch': {
      const id = await idOf(transaction, call.document, signal)
      const patch = parsePatch(call.operations)
      const { view, at } = transaction
      const judge = patch.condition === undefined ? undefined : shortJudge(patch.condition, new ShortWork())
      const change = (text: string) => {
        if (judge?.(text, { moment: at.moment }) === false) throw outcomeError('changed')
        return patchItemText(view, transaction.keyOf(id), text, patch, { strict })
      }
      const item = await transaction.rewrite(id, call.etag, call.operations.length, change)
      return { body: item.text, options: { statusCode: 200 } }
    }
    case 'delete':
      await transaction.delete(await idOf(transaction, call.document, signal), call.etag)
      return { options: { statusCode: 204 } }
  }
}

function parseItem(text: string, strict: boolean) {
  const bytes = Buffer.byteLength(text)
  if (bytes > itemBytesMax) throw new RequestError('too_large', 'Request size is too large')
  return readItemText(text, parseJson(text), bytes, { strict })
}

async function idOf(transaction: ScriptTransaction, document: DocumentReference, signal: AbortSignal): Promise<string> {
  const id = 'id' in document ? document.id : await transaction.idOf(document.rid, signal)
  if (id === undefined) throw outcomeError('missing')
  return id
}

function isSameEtag({ etag }: SeenItem, given: string): boolean {
  return given === '*' || given === etag || `"${given}"` === etag
}

/** Remembers the id of a row that is an item, or has an item's `_rid` and id. */
function noteRow(transaction: ScriptTransaction, row: string): void {
  if (!row.includes('"_rid"')) return
  const { id, _rid } = JSON.parse(row) ?? {}
  if (typeof id === 'string' && typeof _rid === 'string') transaction.know(_rid, id)
}
