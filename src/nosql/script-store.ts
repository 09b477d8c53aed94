/**
 * Where scripts are kept: a container of the system's own, with the container they belong to as partition key.
 *
 * They are written and read like items. A deleted container takes its scripts along; a new one of the same name has another `_rid`, and
 * so never sees what may be left.
 */

import { pageBytesMax, pageItemsMax } from '../base/limits.ts'
import { textOf } from '../document/body.ts'
import { effectivePartitionKeyPrefixRange } from '../document/effective-partition-key.ts'
import { canonicalPartitionKey } from '../document/partition-key.ts'
import type { Engine } from '../engine/engine.ts'
import { itemKey } from '../engine/item-key.ts'
import type { ContainerRecord, ItemKey, StoredItem, TextDraft } from '../storage/port.ts'
import type { ContainerView } from './container-view.ts'
import { outcomeError } from './outcome-error.ts'
import { etagOf, scriptRid } from './resource-id.ts'
import { type Script, type ScriptKind, scriptKinds } from './script-definition.ts'

export interface StoredScript {
  readonly sequence: number
  /** The resource as clients see it. */
  readonly text: string
  readonly etag: string
}

export class ScriptStore {
  readonly #engine: Engine
  readonly #view: ContainerView
  readonly #kind: ScriptKind
  readonly #container: ContainerRecord
  readonly #owner: string

  private constructor(engine: Engine, view: ContainerView, kind: ScriptKind, container: ContainerRecord) {
    this.#engine = engine
    this.#view = view
    this.#kind = kind
    this.#container = container
    this.#owner = `${view.rid} ${kind}`
  }

  static async open(engine: Engine, view: ContainerView, kind: ScriptKind): Promise<ScriptStore> {
    return new ScriptStore(engine, view, kind, await engine.systemContainer('scripts', null))
  }

  /** What etags of scripts are made of. */
  get rid(): number {
    return this.#container.rid
  }

  async list(): Promise<StoredScript[]> {
    const range = {
      ...effectivePartitionKeyPrefixRange(this.#container.partitionKey, [this.#owner]),
      pk: canonicalPartitionKey([this.#owner]),
    }
    // The quotas keep them to one page, unless their texts are very long.
    const found: StoredScript[] = []
    let after: ItemKey | undefined
    do {
      const size = { itemsMax: pageItemsMax, bytesMax: pageBytesMax }
      const page = await this.#engine.store.scan(this.#container, { ...range, after }, size)
      found.push(...page.items.map(item => this.#stored(item)))
      after = page.last
    } while (after !== undefined)
    return found.sort((one, other) => one.sequence - other.sequence)
  }

  async find(id: string): Promise<StoredScript | undefined> {
    const { item } = await this.#engine.store.read(this.#container, this.#key(id))
    return item === undefined ? undefined : this.#stored(item)
  }

  async write(
    kind: 'create' | 'upsert' | 'replace',
    script: Script,
    ifVersion: number | undefined,
  ): Promise<StoredScript & { readonly isNew: boolean }> {
    const write = { kind, key: this.#key(script.id), ifVersion, draft: this.#draft(script), ttl: undefined } as const
    const { outcome, item } = await this.#engine.store.write(this.#container, write)
    if (outcome === 'exists' || outcome === 'missing' || outcome === 'changed') throw outcomeError(outcome)
    return { ...this.#stored(item!), isNew: outcome === 'created' }
  }

  async delete(id: string, ifVersion: number | undefined): Promise<void> {
    const write = { kind: 'delete', key: this.#key(id), ifVersion } as const
    const { outcome } = await this.#engine.store.write(this.#container, write)
    if (outcome === 'missing' || outcome === 'changed') throw outcomeError(outcome)
  }

  #key(id: string): ItemKey {
    return itemKey(this.#container, [this.#owner], id)
  }

  #stored({ sequence, version, body }: StoredItem): StoredScript {
    return { sequence, text: textOf(body), etag: `"${etagOf(this.#container.rid, version)}"` }
  }

  #draft(script: Script): TextDraft {
    const { record, self } = this.#view
    const { mark } = scriptKinds[this.#kind]
    const rid = { name: 'sequence', print: (sequence: number) => scriptRid(record, sequence, mark) } as const
    const etag = { name: 'version', print: (version: number) => etagOf(this.#container.rid, version) } as const
    return {
      texts: [
        `${JSON.stringify(script).slice(0, -1)},"_rid":"`,
        `","_self":"${self}${this.#kind}/`,
        '/","_etag":"\\"',
        '\\"","_ts":',
        '}',
      ],
      stamps: [rid, rid, etag, { name: 'ts', print: String }],
    }
  }
}

/** What a deleted container leaves behind. Where the system keeps nothing, nothing is made for it. */
export async function deleteScripts(engine: Engine, view: ContainerView): Promise<void> {
  const all = await engine.store.databases()
  if (all.length === (await engine.databases()).length) return
  for (const kind of Object.keys(scriptKinds) as ScriptKind[]) {
    const scripts = await ScriptStore.open(engine, view, kind)
    for (const { text } of await scripts.list()) await scripts.delete((JSON.parse(text) as Script).id, undefined)
  }
}
