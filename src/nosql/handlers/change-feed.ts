/**
 * The change feed: GET /docs with an A-IM header. The etag of each answer is the position of the next one;
 * 304 means that nothing is new.
 *
 *   Incremental Feed     living items, each in its latest version, in commit order; from the beginning, a
 *                        time, or now
 *   Full-Fidelity Feed   every version, delete and death within the container's retention; from now, or an
 *                        etag. Without a policy the log begins with the first reader
 *
 * A client continues with `If-None-Match: <etag>`; `*` is now. Clients send `If-Modified-Since` along with
 * every etag of a feed that began at a time; it counts only if there is no etag.
 *
 * Wire format 2021-09-15 puts an item and the facts of its change side by side. It is the only form of the
 * full-fidelity feed; the incremental feed has it on request.
 */

import { machine, toEpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { pageBytesMax } from '../../base/limits.ts'
import { nextSlice } from '../../base/slices.ts'
import { textOf } from '../../document/body.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ScannedItem } from '../../store/item.ts'
import type { ScanRange } from '../../store/reading.ts'
import type { ContainerDefinition } from '../definitions/container-definition.ts'
import { malformed } from '../definitions/definition-input.ts'
import { type ContainerView, sessionHeader, viewOf } from '../http/container-view.ts'
import { pageSize } from '../http/feed.ts'
import { decodeFeedEtag, encodeFeedEtag, type FeedMode, type FeedPosition } from '../http/feed-etag.ts'
import { documentList } from '../http/list-body.ts'
import { requireContainer } from '../http/named-resource.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { headerOf, type NosqlRequest } from '../http/request.ts'
import { header, type NosqlResponse } from '../http/response.ts'
import { printLatest, printLogEntry } from '../items/change-entry.ts'
import { rangeOf } from './item-feed.ts'

const modes: Readonly<Record<string, FeedMode>> = { 'incremental feed': 'latest', 'full-fidelity feed': 'all' }

const wireFormatHeader = 'x-ms-cosmos-changefeed-wire-format-version'
const separateMetadata = '2021-09-15'

interface Feed {
  readonly request: NosqlRequest
  readonly view: ContainerView
  readonly mode: FeedMode
  readonly range: ScanRange
}

/** One page: its documents as JSON texts, and where the next one begins. */
interface Page {
  readonly documents: readonly string[]
  readonly next: FeedPosition
  readonly version: number
  readonly chargeRu: number
}

export async function changeFeed(request: NosqlRequest): Promise<NosqlResponse> {
  const mode = modes[headerOf(request, 'a-im')!.trim().toLowerCase()]
  // INFERRED: the service does not document this text.
  if (mode === undefined) malformed("The value specified for the header 'A-IM' is invalid.")
  const container = await requireContainer(request)
  const view = viewOf(mode === 'all' ? await withLog(request, container) : container)
  const feed: Feed = { request, view, mode, range: rangeOf(request, view) }
  const begin = await beginning(feed)
  const page = mode === 'latest' ? await latestVersions(feed, begin) : await allVersions(feed, begin)
  return answer(feed, page)
}

async function beginning(feed: Feed): Promise<FeedPosition> {
  const { request, view, mode } = feed
  const { engine } = request.service
  const { record } = view
  if (mode === 'all' && record.logSeconds === null) throw outsideRetention()
  const etag = headerOf(request, 'if-none-match')
  if (etag === '*') return { position: await (mode === 'latest' ? engine.changesNow(record) : engine.logNow(record)) }
  if (etag !== undefined) return decodeFeedEtag(mode, etag)
  if (mode === 'all') throw outsideRetention()
  const since = parseSince(headerOf(request, 'if-modified-since'))
  if (since === undefined) return { position: '0' }
  return { position: await engine.changesSince(record, toEpochSeconds(since)), since }
}

/** How long a log is kept that a reader began. INFERRED: the shortest continuous backup of the service. */
const unaskedLogSeconds = 7 * 86_400

/**
 * In the service this mode needs no policy of the container, only continuous backup of the account. Here the
 * log of a container without a policy begins with its first reader, who must start now.
 */
async function withLog(request: NosqlRequest, container: ContainerRecord): Promise<ContainerRecord> {
  const isNew = container.logSeconds === null && headerOf(request, 'if-none-match') === '*'
  if (!isNew || (container.definition as ContainerDefinition).changeFeedPolicy !== undefined) return container
  const { catalog } = request.service.engine
  const logging = await catalog.changeContainer(container, current => ({
    logSeconds: current.logSeconds ?? unaskedLogSeconds,
  }))
  if (logging === undefined) throw outcomeError('ownerMissing')
  return logging
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
async function latestVersions({ request, view, range }: Feed, { position, since = 0 }: FeedPosition): Promise<Page> {
  const { engine } = request.service
  const print = headerOf(request, wireFormatHeader) === separateMetadata ? printLatest : withLsn
  const size = { itemsMax: pageSize(request), bytesMax: pageBytesMax }
  let after = position
  let chargeRu = 0
  while (true) {
    const read = await engine.readChanges(view.record, { within: range, after }, size)
    after = read.position
    chargeRu += read.chargeRu
    const items = read.items.filter(({ ts }) => ts >= since)
    if (items.length > 0 || read.isEnd) {
      // At the end of the feed, all later changes are written at this moment or later. Then `since` is not
      // needed any more.
      const isPast = read.isEnd && read.moment >= since
      const next = isPast || since === 0 ? { position: after } : { position: after, since }
      return { documents: items.map(print), next, version: read.version, chargeRu }
    }
    await nextSlice()
  }
}

/** Adds one property at the end, as the service does (xo/dbimp, cosmos-152). */
function withLsn({ body, version }: ScannedItem): string {
  return `${textOf(body).slice(0, -1)},"_lsn":${version}}`
}

async function allVersions({ request, view, range }: Feed, { position }: FeedPosition): Promise<Page> {
  const size = { itemsMax: pageSize(request), bytesMax: pageBytesMax }
  const read = await request.service.engine.readLog(view.record, { within: range, after: position }, size)
  if (read.isForgotten) throw outsideRetention()
  return {
    documents: read.entries.map(entry => printLogEntry(view.record, entry)),
    next: { position: read.position },
    version: read.version,
    chargeRu: read.chargeRu,
  }
}

function answer({ mode, view, range }: Feed, { documents, next, version, chargeRu }: Page): NosqlResponse {
  const headers =
    header('etag', encodeFeedEtag(mode, next)) +
    sessionHeader(view, version, range.min) +
    header('lsn', version) +
    header('x-ms-item-count', documents.length) +
    view.pathHeaders
  if (documents.length === 0) return { status: 304, chargeRu, headers }
  return { status: 200, body: documentList(view.rid, documents), chargeRu, headers }
}
