/**
 * Stores resources other than items: scripts, users, permissions and client encryption keys. They are in
 * system containers, with their owner as partition key.
 *
 * They are written and read like items. An owner is named by its `_rid`, so a later owner of the same name
 * never sees leftovers.
 */

import { textOf } from '../../document/body.ts'
import type { Engine } from '../../engine/engine.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey, StoredItem, TextDraft } from '../../store/item.ts'
import { checkWritten, outcomeError, refusalError } from '../http/outcome-error.ts'
import { etagOf } from '../http/resource-id.ts'

export interface StoredResource {
  readonly sequence: number
  /** The resource as clients see it. */
  readonly text: string
  readonly etag: string
}

/** The form of the resources of one owner and kind. */
export interface ResourceShape {
  readonly owner: string
  /** The `_self` of the feed: `dbs/…/users/`. */
  readonly self: string
  /** The `_rid` of the resource with this sequence number. */
  readonly rid: (sequence: number) => string
  /** JSON text of further system properties, each preceded by a comma. */
  readonly links?: string
}

interface Named {
  readonly id: string
}

export class SystemResources {
  readonly #engine: Engine
  readonly #container: ContainerRecord
  readonly #shape: ResourceShape

  private constructor(engine: Engine, container: ContainerRecord, shape: ResourceShape) {
    this.#engine = engine
    this.#container = container
    this.#shape = shape
  }

  static async open(engine: Engine, name: string, shape: ResourceShape): Promise<SystemResources> {
    return new SystemResources(engine, await engine.systemItems.container(name, null), shape)
  }

  /** The number that etags are made of. */
  get rid(): number {
    return this.#container.rid
  }

  async list(): Promise<StoredResource[]> {
    const items = await this.#engine.systemItems.list(this.#container, this.#shape.owner)
    return items.map(item => this.#stored(item)).sort((one, other) => one.sequence - other.sequence)
  }

  async find(id: string): Promise<StoredResource | undefined> {
    const item = await this.#engine.systemItems.find(this.#container, this.#key(id))
    return item === undefined ? undefined : this.#stored(item)
  }

  /** A renamed resource keeps its `_rid`, so the sequence number alone would not find it. */
  async findByRid(rid: string): Promise<StoredResource | undefined> {
    return (await this.list()).find(({ text }) => (JSON.parse(text) as { _rid: string })._rid === rid)
  }

  async write(
    kind: 'create' | 'upsert' | 'replace',
    resource: Named,
    ifVersion: number | undefined,
  ): Promise<StoredResource & { readonly isNew: boolean }> {
    const draft = this.#draft(resource)
    const write = { kind, key: this.#key(resource.id), ifVersion, draft, ttl: undefined } as const
    const { outcome, item } = await this.#engine.systemItems.write(this.#container, write)
    checkWritten(outcome)
    return { ...this.#stored(item!), isNew: outcome === 'created' }
  }

  /** Replaces a resource and changes its id. It keeps its `_rid`. */
  async rename(id: string, resource: Named, ifVersion: number | undefined): Promise<StoredResource> {
    const found = await this.find(id)
    if (found === undefined) throw outcomeError('missing')
    const { _rid } = JSON.parse(found.text) as { _rid: string }
    const container = this.#container
    const { steps, refusal } = await this.#engine.systemItems.transact([
      { container, key: this.#key(id), decide: () => ({ kind: 'delete', ifVersion }) },
      {
        container,
        key: this.#key(resource.id),
        decide: () => ({ kind: 'create', draft: this.#draft(resource, _rid), ttl: undefined }),
      },
    ])
    if (refusal !== undefined) throw refusalError(refusal, steps.at(-1))
    return this.#stored(steps[1]!.item!)
  }

  async delete(id: string, ifVersion: number | undefined): Promise<void> {
    const write = { kind: 'delete', key: this.#key(id), ifVersion } as const
    const { outcome } = await this.#engine.systemItems.write(this.#container, write)
    checkWritten(outcome)
  }

  /** Called when the owner was deleted. */
  async deleteAll(): Promise<void> {
    for (const { text } of await this.list()) await this.delete((JSON.parse(text) as Named).id, undefined)
  }

  #key(id: string): ItemKey {
    return itemKey(this.#container, [this.#shape.owner], id)
  }

  #stored({ sequence, version, body }: StoredItem): StoredResource {
    return { sequence, text: textOf(body), etag: `"${etagOf(this.#container.rid, version)}"` }
  }

  #draft(resource: Named, fixedRid?: string): TextDraft {
    const { self, links = '', rid: print } = this.#shape
    const rid = { name: 'sequence', print: (sequence: number) => fixedRid ?? print(sequence) } as const
    const etag = { name: 'version', print: (version: number) => etagOf(this.#container.rid, version) } as const
    return {
      texts: [
        `${JSON.stringify(resource).slice(0, -1)},"_rid":"`,
        `","_self":"${self}`,
        '/","_etag":"\\"',
        `\\""${links},"_ts":`,
        '}',
      ],
      stamps: [rid, rid, etag, { name: 'ts', print: String }],
    }
  }
}
