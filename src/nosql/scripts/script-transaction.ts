/**
 * The items of one partition key as a script sees them: those in the store, with what the script wrote itself
 * laid over them.
 *
 * Nothing reaches the store before the script has ended. Then everything is written in one transaction, which
 * happens only if each item that the script wrote or read by name is still as it found it; otherwise the
 * script has to run again (`isStale`).
 *
 * An item that a script wrote has no `_rid`, `_etag` and `_ts` yet. It gets ones that nobody else has, so
 * that the script can use them; in what the script answers they are replaced by the real ones (`real`).
 */

import { randomInt } from 'node:crypto'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { itemBytesMax, MiB, scanBytesMax, scanItemsMax } from '../../base/limits.ts'
import { textOf } from '../../document/body.ts'
import { effectivePartitionKeyPrefixRange } from '../../document/effective-partition-key.ts'
import { canonicalPartitionKey, type PartitionKeyComponent } from '../../document/partition-key.ts'
import type { Engine } from '../../engine/engine.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ItemKey, StoredItem } from '../../store/item.ts'
import type { Viewpoint } from '../../store/policy.ts'
import type { ScanRange } from '../../store/reading.ts'
import type { ItemChange, Step } from '../../store/writing.ts'
import { deleteRu, readRu, writeRu } from '../../units/cost.ts'
import { type ContainerView, checkPartitionKey } from '../http/container-view.ts'
import { etagOf, itemNames, itemRid } from '../http/resource-id.ts'
import { type ItemBody, itemDraft } from '../items/item-body.ts'
import { outcomeError, refusalError } from '../items/outcome-error.ts'

/**
 * What one run of a script may hold back until it ends, in characters of items: as much again as it may have
 * waiting.
 */
const scriptWritesCharsMax = 32 * MiB

/** An item as the script sees it. */
export interface SeenItem {
  readonly id: string
  readonly text: string
  /** Quoted. */
  readonly etag: string
}

interface Written {
  readonly body: Pick<ItemBody, 'text' | 'ttl'>
  readonly seen: SeenItem
  /**
   * What stands for the version and the row that it will have; the row of an item that was there is known.
   */
  readonly version: number
  readonly sequence: number | undefined
}

/**
 * What the script found at an id, and what it put there: undefined for nothing, `untouched` for nothing new.
 */
interface Place {
  readonly found: StoredItem | undefined
  now: Written | undefined | typeof untouched
}

const untouched = Symbol('untouched')

/** Never shown to anybody: whoever runs scripts tries again. */
const stale = new RequestError('precondition_failed', 'The item was changed while a script was running.')

export class ScriptTransaction {
  readonly #engine: Engine
  readonly #view: ContainerView
  readonly #components: readonly PartitionKeyComponent[]
  readonly #at: Viewpoint
  readonly #places = new Map<string, Place>()
  readonly #ids = new Map<string, string>()
  readonly range: ScanRange
  #chars = 0
  #chargeRu = 0

  constructor(engine: Engine, view: ContainerView, components: readonly PartitionKeyComponent[], at: Viewpoint) {
    this.#engine = engine
    this.#view = view
    this.#components = components
    this.#at = { moment: at.moment, policy: at.policy }
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

  /** What everything so far costs; it is taken when the script has ended, before anything is written. */
  get chargeRu(): number {
    return Math.round(this.#chargeRu * 100) / 100
  }

  get hasWritten(): boolean {
    return [...this.#places.values()].some(({ now }) => now !== untouched)
  }

  charge(ru: number): void {
    this.#chargeRu += ru
  }

  keyOf(id: string): ItemKey {
    return itemKey(this.#view.record, this.#components, id)
  }

  async read(id: string): Promise<SeenItem | undefined> {
    const seen = this.#seenAt(await this.#place(id), id)
    this.charge(readRu(seen?.text.length ?? 0))
    return seen
  }

  async write(
    kind: 'create' | 'upsert' | 'replace',
    body: ItemBody,
    etag: string | undefined,
  ): Promise<{ item: SeenItem; isNew: boolean }> {
    this.#checkKey(body)
    const place = await this.#place(body.id)
    const present = this.#seenAt(place, body.id)
    this.charge(writeRu(body.bytes))
    if (present !== undefined && kind === 'create') throw outcomeError('exists')
    if (present === undefined && kind === 'replace') throw outcomeError('missing')
    checkEtag(present, etag)
    return { item: this.#put(place, body.id, body), isNew: present === undefined }
  }

  /** Replaces an item by what `change` makes of its text. */
  async rewrite(
    id: string,
    etag: string | undefined,
    bytes: number,
    change: (text: string) => Written['body'],
  ): Promise<SeenItem> {
    const place = await this.#place(id)
    const present = this.#seenAt(place, id)
    this.charge(writeRu(bytes))
    if (present === undefined) throw outcomeError('missing')
    checkEtag(present, etag)
    return this.#put(place, id, change(present.text))
  }

  async delete(id: string, etag: string | undefined): Promise<void> {
    const place = await this.#place(id)
    const present = this.#seenAt(place, id)
    this.charge(deleteRu)
    if (present === undefined) throw outcomeError('missing')
    checkEtag(present, etag)
    place.now = undefined
  }

  /** Items in the order of their ids, behind one of them; `last` is where to go on, undefined at the end. */
  async page(after: string, itemsMax: number): Promise<{ items: SeenItem[]; last: string | undefined }> {
    const { record } = this.#view
    const size = { itemsMax, bytesMax: scanBytesMax }
    const range = { ...this.range, after: this.keyOf(after), at: this.#at }
    const { items, last } = await this.#engine.store.scan(record, range, size)
    const stored = items.flatMap(({ key, ...item }) => (this.#places.has(key.id) ? [] : [this.#stored(key.id, item)]))
    // What the script put there itself lies between them, up to where the store has come.
    const isWithin = (id: string) => compareIds(id, after) > 0 && (last === undefined || compareIds(id, last.id) <= 0)
    const own = [...this.#places].flatMap(([id, place]) => {
      const seen = isWithin(id) ? this.#seenAt(place, id) : undefined
      return seen === undefined ? [] : [seen]
    })
    const merged = [...stored, ...own].sort((one, other) => compareIds(one.id, other.id))
    if (merged.length <= itemsMax) return { items: merged, last: last?.id }
    const cut = merged.slice(0, itemsMax)
    return { items: cut, last: cut.at(-1)!.id }
  }

  /** All items, a bounded number at a time, with a turn for others between them. */
  async *all(after: string, itemsMax: number): AsyncGenerator<SeenItem[]> {
    let from: string | undefined = after
    while (from !== undefined) {
      const { items, last } = await this.page(from, itemsMax)
      yield items
      from = last
      await new Promise<void>(resolve => machine.setImmediate(resolve))
    }
  }

  /** Scripts name items by their `_self`. Nearly always it is one that they have been given. */
  async idOf(rid: string): Promise<string | undefined> {
    const known = this.#ids.get(rid)
    if (known !== undefined) return known
    for await (const _ of this.all('', scanItemsMax)) if (this.#ids.has(rid)) break
    return this.#ids.get(rid)
  }

  /** Remembers under which `_rid` the script has been given an item. */
  know(rid: string, id: string): void {
    this.#ids.set(rid, id)
  }

  /** Writes everything; the items as stored by id. */
  async commit(): Promise<ReadonlyMap<string, StoredItem>> {
    const places = [...this.#places]
    const { record } = this.#view
    if (places.length === 0) {
      this.#engine.ledger.charge(record, this.chargeRu)
      return new Map()
    }
    const steps = places.map(([id, place]): Step => {
      const decide = (found: StoredItem | undefined) => {
        if (found?.version !== place.found?.version) throw stale
        return this.#changeAt(place)
      }
      return { container: record, key: this.keyOf(id), decide }
    })
    const { steps: answers, refusal } = await this.#engine.transact(record, steps, this.chargeRu)
    if (refusal !== undefined) throw refusalError(refusal, answers.at(-1))
    return new Map(places.flatMap(([id], at) => (answers[at]?.item === undefined ? [] : [[id, answers[at].item]])))
  }

  static isStale(error: unknown): boolean {
    return error === stale
  }

  /**
   * A text that the script made, with the real `_rid`s and `_etag`s of what it wrote: in one pass, however
   * many there are.
   */
  real(text: string, stored: ReadonlyMap<string, StoredItem>): string {
    const { record } = this.#view
    const real = new Map<string, string>()
    for (const [id, { now }] of this.#places) {
      const item = stored.get(id)
      if (now === undefined || now === untouched || item === undefined) continue
      real.set(etagOf(record.rid, now.version), etagOf(record.rid, item.version))
      if (now.sequence !== undefined) real.set(itemRid(record, now.sequence), itemRid(record, item.sequence))
    }
    return real.size === 0 ? text : text.replace(itemNames(record), name => real.get(name) ?? name)
  }

  async #place(id: string): Promise<Place> {
    const known = this.#places.get(id)
    if (known !== undefined) return known
    const { item } = await this.#engine.store.read(this.#view.record, this.keyOf(id), this.#at)
    const place: Place = { found: item, now: untouched }
    this.#places.set(id, place)
    return place
  }

  #seenAt({ found, now }: Place, id: string): SeenItem | undefined {
    if (now !== untouched) return now?.seen
    return found === undefined ? undefined : this.#stored(id, found)
  }

  #stored(id: string, { body, version, sequence }: StoredItem): SeenItem {
    const { record } = this.#view
    this.know(itemRid(record, sequence), id)
    return { id, text: textOf(body), etag: `"${etagOf(record.rid, version)}"` }
  }

  #put(place: Place, id: string, body: Written['body']): SeenItem {
    this.#chars += body.text.length
    if (this.#chars > scriptWritesCharsMax || Buffer.byteLength(body.text) > itemBytesMax) {
      throw new RequestError('too_large', 'Request size is too large')
    }
    const { record } = this.#view
    // Beyond every number that a store gives.
    const version = 2 ** 47 + randomInt(2 ** 46)
    const sequence = place.found === undefined ? 2 ** 47 + randomInt(2 ** 46) : undefined
    const rid = itemRid(record, sequence ?? place.found!.sequence)
    const etag = etagOf(record.rid, version)
    const [before, toSelf, toEtag, toTs, end] = itemDraft(this.#view, body).texts
    const text = `${before}${rid}${toSelf}${rid}${toEtag}${etag}${toTs}${this.#at.moment}${end}`
    const seen = { id, text, etag: `"${etag}"` }
    place.now = { body, version, sequence, seen }
    this.know(rid, id)
    return seen
  }

  #changeAt({ found, now }: Place): ItemChange | undefined {
    if (now === untouched) return undefined
    if (now === undefined) return found === undefined ? undefined : { kind: 'delete' }
    const { body } = now
    return { kind: found === undefined ? 'create' : 'replace', draft: itemDraft(this.#view, body), ttl: body.ttl }
  }

  #checkKey({ properties }: ItemBody): void {
    try {
      checkPartitionKey(this.#view, this.#components, properties)
    } catch (cause) {
      // The service's words.
      const text =
        'Requests originating from scripts cannot reference partition keys other than the one for which client request was submitted.'
      throw new RequestError('malformed', text, { cause })
    }
  }
}

function checkEtag(present: SeenItem | undefined, etag: string | undefined): void {
  if (etag === undefined || etag === '*' || present === undefined) return
  if (present.etag !== etag && present.etag !== `"${etag}"`) throw outcomeError('changed')
}

/** As stores order them: by their bytes. */
function compareIds(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}
