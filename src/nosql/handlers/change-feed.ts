/**
 * The change feed: GET /docs with an A-IM header. The etag of each answer is the position of the next one;
 * 304 means that nothing is new.
 *
 *   Incremental Feed     living items, each in its latest version, in commit order; from the beginning, a
 *                        time, or now
 *   Full-Fidelity Feed   every version, delete and death within the container's retention; from now, or an
 *                        etag
 *
 * A client continues with `If-None-Match: <etag>`; `*` is now. Clients send `If-Modified-Since` along with
 * every etag of a feed that began at a time; it counts only if there is no etag.
 */

import { machine, toEpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { pageBytesMax } from '../../base/limits.ts'
import { textOf } from '../../document/body.ts'
import { partitionRangeIndex } from '../../document/effective-partition-key.ts'
import type { ScannedItem } from '../../store/item.ts'
import type { ScanRange } from '../../store/reading.ts'
import { malformed } from '../definitions/definition-input.ts'
import { type ContainerView, sessionHeader, viewOf } from '../http/container-view.ts'
import { decodeContinuation, encodeContinuation } from '../http/continuation.ts'
import { pageSize } from '../http/feed.ts'
import { documentList } from '../http/list-body.ts'
import { requireContainer } from '../http/named-resource.ts'
import { headerOf, type NosqlRequest } from '../http/request.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { printLogEntry } from '../items/change-entry.ts'
import { rangeOf } from './item-feed.ts'

type Mode = 'latest' | 'all'

const modes: Readonly<Record<string, Mode>> = { 'incremental feed': 'latest', 'full-fidelity feed': 'all' }

/** Where a feed continues. `since` drops older changes: the position for a time may be too early. */
interface Bookmark {
  readonly position: string
  readonly since?: number
}

interface Feed {
  readonly request: NosqlRequest
  readonly view: ContainerView
  readonly mode: Mode
  readonly range: ScanRange
}

/** One page: its documents as JSON texts, and where the next one begins. */
interface Page {
  readonly documents: readonly string[]
  readonly bookmark: Bookmark
  readonly version: number
  readonly chargeRu: number
}

export async function changeFeed(request: NosqlRequest): Promise<NosqlResponse> {
  const mode = modes[headerOf(request, 'a-im')!.trim().toLowerCase()]
  // INFERRED: the service does not document this text.
  if (mode === undefined) malformed("The value specified for the header 'A-IM' is invalid.")
  const container = await requireContainer(request)
  const view = viewOf(container)
  const feed: Feed = { request, view, mode, range: rangeOf(request, view) }
  const begin = await beginning(feed)
  const page = mode === 'latest' ? await latestVersions(feed, begin) : await allVersions(feed, begin)
  return answer(feed, page)
}

function scopeOf({ view, mode, range }: Feed): string {
  return `changes ${mode} ${view.rid} ${range.min} ${range.maxExclusive} ${range.pk ?? ''}`
}

async function beginning(feed: Feed): Promise<Bookmark> {
  const { request, view, mode } = feed
  const { engine } = request.service
  const { record } = view
  if (mode === 'all' && record.logSeconds === null) {
    // INFERRED text. That it needs a retention is the service's rule.
    malformed('The container has no change feed policy with a retention: all versions and deletes are not kept.')
  }
  const etag = headerOf(request, 'if-none-match')
  if (etag === '*') return { position: await (mode === 'latest' ? engine.changesNow(record) : engine.logNow(record)) }
  if (etag !== undefined) {
    const token = etag.startsWith('"') && etag.endsWith('"') ? etag.slice(1, -1) : etag
    return decodeContinuation(request.service.key, scopeOf(feed), token) as Bookmark
  }
  if (mode === 'all') throw outsideRetention()
  const since = parseSince(headerOf(request, 'if-modified-since'))
  if (since === undefined) return { position: '0' }
  return { position: await engine.changesSince(record, toEpochSeconds(since)), since }
}

function parseSince(header: string | undefined): number | undefined {
  if (header === undefined) return undefined
  const ms = machine.parseHttpDateMs(header)
  // INFERRED.
  if (Number.isNaN(ms)) malformed("The value specified for the header 'If-Modified-Since' is invalid.")
  return Math.max(0, Math.ceil(ms / 1000))
}

/** The service's text (azure-sdk-for-js, changeFeedIterator.spec). */
function outsideRetention(): RequestError {
  return new RequestError(
    'malformed',
    'The request is outside the retention of the change feed. You must read the change feed from within the ' +
      'retention period.',
  )
}

/**
 * Skips changes that the client may not see and reads on, so that a page is empty only at the current end of
 * the feed.
 */
async function latestVersions({ request, view, range }: Feed, { position, since = 0 }: Bookmark): Promise<Page> {
  const { engine } = request.service
  const size = { itemsMax: pageSize(request), bytesMax: pageBytesMax }
  let after = position
  let chargeRu = 0
  while (true) {
    const read = await engine.readChanges(view.record, { within: range, after }, size)
    after = read.position
    chargeRu += read.chargeRu
    const items = read.items.filter(({ ts }) => ts >= since)
    if (items.length > 0 || read.isEnd) {
      const bookmark = since === 0 ? { position: after } : { position: after, since }
      return { documents: items.map(withLsn), bookmark, version: read.version, chargeRu }
    }
    await new Promise<void>(resolve => machine.setImmediate(resolve))
  }
}

/** Adds one property at the end, as the service does (xo/dbimp, cosmos-152). */
function withLsn({ body, version }: ScannedItem): string {
  return `${textOf(body).slice(0, -1)},"_lsn":${version}}`
}

async function allVersions({ request, view, range }: Feed, { position }: Bookmark): Promise<Page> {
  const size = { itemsMax: pageSize(request), bytesMax: pageBytesMax }
  const read = await request.service.engine.readLog(view.record, { within: range, after: position }, size)
  if (read.isForgotten) throw outsideRetention()
  return {
    documents: read.entries.map(entry => printLogEntry(view.record, entry)),
    bookmark: { position: read.position },
    version: read.version,
    chargeRu: read.chargeRu,
  }
}

function answer(feed: Feed, { documents, bookmark, version, chargeRu }: Page): NosqlResponse {
  const { request, view, range } = feed
  const headers =
    header('etag', `"${encodeContinuation(request.service.key, scopeOf(feed), bookmark)}"`) +
    sessionHeader(view, version, range.min) +
    header('lsn', version) +
    header('x-ms-item-count', documents.length) +
    header('x-ms-documentdb-partitionkeyrangeid', partitionRangeIndex(view.ranges, range.min)) +
    view.pathHeaders
  if (documents.length === 0) return { status: 304, chargeRu, headers }
  return { status: 200, body: documentList(view.rid, documents), chargeRu, headers }
}

/** Whether a request for items asks for the change feed. */
export function isChangeFeed(request: NosqlRequest): boolean {
  return headerOf(request, 'a-im') !== undefined
}
