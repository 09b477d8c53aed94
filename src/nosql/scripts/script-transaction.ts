/**
 * The items of one partition key as a script sees them: the stored items overlaid with the script's own
 * writes.
 *
 * Nothing reaches the store before the script has ended. Then everything is written in one transaction. It
 * succeeds only if each item that the script wrote, or read by name, is unchanged; otherwise the script must
 * run again (`isStale`).
 *
 * An item that a script wrote has no `_rid`, `_etag` and `_ts` yet. It gets unique temporary ones, so that
 * the script can use them. In the script's response they are replaced by the real ones (`withRealNames`).
 */

import { randomInt } from 'node:crypto'
import { InvariantError, RequestError } from '../../base/error.ts'
import { itemBytesMax, MiB, scanBytesMax, scanItemsMax } from '../../base/limits.ts'
import type { MemoryLease } from '../../base/memory-account.ts'
import { nextSlice } from '../../base/slices.ts'
import { textOf } from '../../document/body.ts'
import { effectivePartitionKeyPrefixRange } from '../../document/effective-partition-key.ts'
import { canonicalPartitionKey, type PartitionKeyComponent } from '../../document/partition-key.ts'
import type { Engine } from '../../engine/engine.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ItemKey, StoredItem, TextDraft } from '../../store/item.ts'
import type { Viewpoint } from '../../store/policy.ts'
import type { ContainerReader, PageSize, ScanAnswer, ScanRange } from '../../store/reading.ts'
import type { ItemChange, Step } from '../../store/writing.ts'
import { deleteRu, readRu, writeRu } from '../../units/cost.ts'
import { type ContainerView, checkPartitionKey } from '../http/container-view.ts'
import { outcomeError, refusalError } from '../http/outcome-error.ts'
import { etagOf, itemNames, itemRid } from '../http/resource-id.ts'
import { type ItemBody, itemDraft } from '../items/item-body.ts'

/** Most characters of items that one run of a script may write: twice as many as may wait in calls. */
const scriptWritesCharsMax = 32 * MiB

/** Memory that a remembered `_rid` takes, besides the text of the id. */
const knownIdBytes = 100

/** An item as the script sees it. */
export interface SeenItem {
  readonly id: string
  readonly text: string
  /** In quotes. */
  readonly etag: string
  /** The other facts about the item that queries need. */
  readonly stamps: Omit<StoredItem, 'body'>
}

interface Written {
  /** Made before the commit, while nobody waits for it, so that the commit of many items is short. */
  readonly draft: TextDraft
  readonly ttl: number | undefined
  readonly seen: SeenItem
  /** Temporary version and sequence number. An item that existed before keeps its sequence number. */
  readonly version: number
  readonly sequence: number | undefined
}

/**
 * What the script found under an id, and what it wrote there: undefined for a delete, `untouched` for
 * nothing.
 */
interface TrackedItem {
  readonly found: StoredItem | undefined
  now: Written | undefined | typeof untouched
}

const untouched = Symbol('untouched')

/** Never sent to a client: the script is run again. */
const stale = new RequestError('precondition_failed', 'The item was changed while a script was running.')

export class ScriptTransaction {
  readonly #engine: Engine
  readonly #view: ContainerView
  readonly #components: readonly PartitionKeyComponent[]
  readonly #partition: Omit<ItemKey, 'id'>
  readonly #at: Viewpoint
  readonly #tracked = new Map<string, TrackedItem>()
  readonly #ids = new Map<string, string>()
  readonly range: ScanRange
  readonly #lease: MemoryLease | undefined
  #chars = 0
  #chargeRu = 0

  /** The memory that the transaction holds is counted on the lease. */
  constructor(
    engine: Engine,
    view: ContainerView,
    components: readonly PartitionKeyComponent[],
    { at, lease }: { readonly at: Viewpoint; readonly lease?: MemoryLease | undefined },
  ) {
    this.#engine = engine
    this.#view = view
    this.#components = components
    const { epk, pk } = itemKey(view.record, components, '')
    this.#partition = { epk, pk }
    this.#at = { moment: at.moment, policy: at.policy }
    this.#lease = lease
    this.range = {
      ...effectivePartitionKeyPrefixRange(view.record.partitionKey, components),
      pk: canonicalPartitionKey(components),
    }
  }

  get at(): Viewpoint {
    return this.#at
  }

  get view(): ContainerView {
    return this.#view
  }

  /** The charge so far. It is taken when the script has ended, before anything is written. */
  get chargeRu(): number {
    return Math.round(this.#chargeRu * 100) / 100
  }

  get hasWritten(): boolean {
    return [...this.#tracked.values()].some(({ now }) => now !== untouched)
  }

  charge(ru: number): void {
    this.#chargeRu += ru
  }

  keyOf(id: string): ItemKey {
    return { ...this.#partition, id }
  }

  async read(id: string): Promise<SeenItem | undefined> {
    const seen = this.#visible(await this.#track(id), id)
    this.charge(readRu(seen?.text.length ?? 0))
    return seen
  }

  async write(
    kind: 'create' | 'upsert' | 'replace',
    body: ItemBody,
    etag: string | undefined,
  ): Promise<{ item: SeenItem; isNew: boolean }> {
    this.#checkKey(body)
    const tracked = await this.#track(body.id)
    const present = this.#visible(tracked, body.id)
    this.charge(writeRu(body.bytes))
    if (present !== undefined && kind === 'create') throw outcomeError('exists')
    if (present === undefined && kind === 'replace') throw outcomeError('missing')
    checkEtag(present, etag)
    return { item: this.#put(tracked, body.id, body), isNew: present === undefined }
  }

  /** The new text may have another id. */
  async replace(id: string, body: ItemBody, etag: string | undefined): Promise<{ item: SeenItem; isNew: boolean }> {
    if (body.id === id) return this.write('replace', body, etag)
    this.#checkKey(body)
    const former = await this.#track(id)
    const present = this.#visible(former, id)
    this.charge(writeRu(body.bytes))
    if (present === undefined) throw outcomeError('missing')
    checkEtag(present, etag)
    const tracked = await this.#track(body.id)
    if (this.#visible(tracked, body.id) !== undefined) throw outcomeError('exists')
    former.now = undefined
    return { item: this.#put(tracked, body.id, body), isNew: false }
  }

  /** Replaces an item with the result of `change` on its text. */
  async rewrite(
    id: string,
    etag: string | undefined,
    bytes: number,
    change: (text: string) => Pick<ItemBody, 'text' | 'ttl'>,
  ): Promise<SeenItem> {
    const tracked = await this.#track(id)
    const present = this.#visible(tracked, id)
    this.charge(writeRu(bytes))
    if (present === undefined) throw outcomeError('missing')
    checkEtag(present, etag)
    return this.#put(tracked, id, change(present.text))
  }

  async delete(id: string, etag: string | undefined): Promise<void> {
    const tracked = await this.#track(id)
    const present = this.#visible(tracked, id)
    this.charge(deleteRu)
    if (present === undefined) throw outcomeError('missing')
    checkEtag(present, etag)
    tracked.now = undefined
  }

  /** Items in order of id, after a given one. `last` is where to continue; undefined at the end. */
  async page(after: string, itemsMax: number): Promise<{ items: SeenItem[]; last: string | undefined }> {
    const { record } = this.#view
    const size = { itemsMax, bytesMax: scanBytesMax }
    const range = { ...this.range, after: this.keyOf(after), at: this.#at }
    const { items, last } = await this.#engine.uncharged.scan(record, range, size)
    const stored = items.flatMap(({ key, ...item }) => (this.#tracked.has(key.id) ? [] : [this.#stored(key.id, item)]))
    // Includes the script's own writes up to the last id that the store returned.
    const isWithin = (id: string) => compareIds(id, after) > 0 && (last === undefined || compareIds(id, last.id) <= 0)
    const own = [...this.#tracked].flatMap(([id, tracked]) => {
      const seen = isWithin(id) ? this.#visible(tracked, id) : undefined
      return seen === undefined ? [] : [seen]
    })
    const merged = [...stored, ...own].sort((one, other) => compareIds(one.id, other.id))
    if (merged.length <= itemsMax) return { items: merged, last: last?.id }
    const cut = merged.slice(0, itemsMax)
    return { items: cut, last: cut.at(-1)!.id }
  }

  /** Reads the items as `page` does, for a query. */
  get reader(): ContainerReader {
    const scan = async ({ after }: ScanRange, { itemsMax }: PageSize): Promise<ScanAnswer> => {
      const { items, last } = await this.page(after?.id ?? '', itemsMax)
      return {
        ...this.#at,
        version: Number.MAX_SAFE_INTEGER,
        items: items.map(({ id, text, stamps }) => ({ ...stamps, key: this.keyOf(id), body: text })),
        last: last === undefined ? undefined : this.keyOf(last),
      }
    }
    const never = () => {
      throw new InvariantError('The items of a script are read by scanning them.')
    }
    return { scan, read: never, scanIndex: never, countEntries: never, census: never }
  }

  /** All items in chunks of limited size. Yields to the event loop between them. */
  async *all(after: string, itemsMax: number, signal: AbortSignal): AsyncGenerator<SeenItem[]> {
    let from: string | undefined = after
    while (from !== undefined) {
      signal.throwIfAborted()
      const { items, last } = await this.page(from, itemsMax)
      yield items
      from = last
      await nextSlice()
    }
  }

  /**
   * The id of the item with this `_rid`. Scripts name items by their `_self`. Nearly always the script has
   * received the item before.
   */
  async idOf(rid: string, signal: AbortSignal): Promise<string | undefined> {
    const known = this.#ids.get(rid)
    if (known !== undefined) return known
    for await (const _ of this.all('', scanItemsMax, signal)) if (this.#ids.has(rid)) break
    return this.#ids.get(rid)
  }

  /** Remembers the id of an item whose `_rid` the script has seen. */
  know(rid: string, id: string): void {
    if (!this.#ids.has(rid)) this.#lease?.add(knownIdBytes + id.length)
    this.#ids.set(rid, id)
  }

  /**
   * Writes everything, unless `check` throws at the last moment. Returns the stored items by id.
   */
  async commit(check: () => void): Promise<ReadonlyMap<string, StoredItem>> {
    const entries = [...this.#tracked]
    const { record } = this.#view
    if (entries.length === 0) {
      this.#engine.charge(record, this.chargeRu)
      return new Map()
    }
    const steps = entries.map(([id, tracked]): Step => {
      const decide = (found: StoredItem | undefined) => {
        check()
        if (found?.version !== tracked.found?.version) throw stale
        return this.#changeAt(tracked)
      }
      return { container: record, key: this.keyOf(id), decide }
    })
    const { steps: answers, refusal } = await this.#engine.transact(record, steps, this.chargeRu)
    if (refusal !== undefined) throw refusalError(refusal, answers.at(-1))
    return new Map(entries.flatMap(([id], at) => (answers[at]?.item === undefined ? [] : [[id, answers[at].item]])))
  }

  static isStale(error: unknown): boolean {
    return error === stale
  }

  /** Replaces the temporary `_rid`s and `_etag`s in a script's text by the real ones, in one pass. */
  withRealNames(text: string, stored: ReadonlyMap<string, StoredItem>): string {
    let real: ReadonlyMap<string, string> | undefined
    return text.replace(itemNames(this.#view.record), name => {
      real ??= this.#realNames(stored)
      return real.get(name) ?? name
    })
  }

  #realNames(stored: ReadonlyMap<string, StoredItem>): ReadonlyMap<string, string> {
    const { record } = this.#view
    const real = new Map<string, string>()
    for (const [id, { now }] of this.#tracked) {
      const item = stored.get(id)
      if (now === undefined || now === untouched || item === undefined) continue
      real.set(etagOf(record.rid, now.version), etagOf(record.rid, item.version))
      if (now.sequence !== undefined) real.set(itemRid(record, now.sequence), itemRid(record, item.sequence))
    }
    return real
  }

  async #track(id: string): Promise<TrackedItem> {
    const known = this.#tracked.get(id)
    if (known !== undefined) return known
    const { item } = await this.#engine.uncharged.read(this.#view.record, this.keyOf(id), this.#at)
    if (item !== undefined) this.#lease?.add(item.body.length)
    const tracked: TrackedItem = { found: item, now: untouched }
    this.#tracked.set(id, tracked)
    return tracked
  }

  #visible({ found, now }: TrackedItem, id: string): SeenItem | undefined {
    if (now !== untouched) return now?.seen
    return found === undefined ? undefined : this.#stored(id, found)
  }

  #stored(id: string, { body, ...stamps }: StoredItem): SeenItem {
    const { record } = this.#view
    this.know(itemRid(record, stamps.sequence), id)
    return { id, text: textOf(body), etag: `"${etagOf(record.rid, stamps.version)}"`, stamps }
  }

  #put(tracked: TrackedItem, id: string, body: Pick<ItemBody, 'text' | 'ttl'>): SeenItem {
    this.#chars += body.text.length
    if (this.#chars > scriptWritesCharsMax || Buffer.byteLength(body.text) > itemBytesMax) {
      throw new RequestError('too_large', 'Request size is too large')
    }
    // The text is held twice: without and with names and stamps.
    this.#lease?.add(2 * body.text.length)
    const { record } = this.#view
    // Larger than any number that a store assigns.
    const version = 2 ** 47 + randomInt(2 ** 46)
    const sequence = tracked.found === undefined ? 2 ** 47 + randomInt(2 ** 46) : undefined
    const known = sequence ?? tracked.found!.sequence
    const rid = itemRid(record, known)
    const etag = etagOf(record.rid, version)
    const draft = itemDraft(this.#view, body)
    const [before, toSelf, toEtag, toTs, end] = draft.texts
    const text = `${before}${rid}${toSelf}${rid}${toEtag}${etag}${toTs}${this.#at.moment}${end}`
    const stamps = { version, sequence: known, ts: this.#at.moment, deadline: null }
    const seen = { id, text, etag: `"${etag}"`, stamps }
    tracked.now = { draft, ttl: body.ttl, version, sequence, seen }
    this.know(rid, id)
    return seen
  }

  #changeAt({ found, now }: TrackedItem): ItemChange | undefined {
    if (now === untouched) return undefined
    if (now === undefined) return found === undefined ? undefined : { kind: 'delete' }
    const { draft, ttl } = now
    return { kind: found === undefined ? 'create' : 'replace', draft, ttl }
  }

  #checkKey({ properties }: ItemBody): void {
    try {
      checkPartitionKey(this.#view, this.#components, properties)
    } catch (cause) {
      // The service's text.
      const text =
        'Requests originating from scripts cannot reference partition keys other than the one for which client ' +
        'request was submitted.'
      throw new RequestError('malformed', text, { cause })
    }
  }
}

function checkEtag(present: SeenItem | undefined, etag: string | undefined): void {
  if (etag === undefined || etag === '*' || present === undefined) return
  if (present.etag !== etag && present.etag !== `"${etag}"`) throw outcomeError('changed')
}

/** Compares like the store: by bytes. */
function compareIds(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
