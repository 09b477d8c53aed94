/**
 * Creates a container, fills it and deletes it, again and again under one name. After a crash the container
 * is there completely or not at all, and a new one never shows items of the old one.
 */

import type { Client, Reply } from './client.ts'
import type { Random } from './random.ts'
import { check } from './violation.ts'

type Step =
  | { readonly kind: 'create' }
  | { readonly kind: 'delete' }
  | { readonly kind: 'put'; readonly id: string; readonly text: string }

const path = '/dbs/crash/colls/scratch'

export class Builder {
  /** The acknowledged texts, or undefined if there is no container. */
  #items: Map<string, string> | undefined
  #sent: Step | undefined
  #rids = new Set<string>()
  builtCount = 0

  async step(client: Client, random: Random): Promise<void> {
    const step = this.#draw(random)
    this.#sent = step
    const reply = await this.#send(client, step)
    this.#sent = undefined
    check(
      reply.status === expected[step.kind],
      `${step.kind} in scratch was answered with ${reply.status} ${reply.text}`,
    )
    this.#apply(step, reply)
  }

  /** After a restart everything acknowledged is there, and the operation under way happened fully or not. */
  async settle(client: Client): Promise<void> {
    const found = await client.send('GET', path)
    const sent = this.#sent
    this.#sent = undefined
    const isThere = found.status === 200
    if (isThere !== (this.#items !== undefined)) {
      const may = sent?.kind === (isThere ? 'create' : 'delete')
      check(may, isThere ? 'a deleted container is back' : 'an acknowledged container is lost')
      this.#apply(sent, found)
    }
    if (this.#items === undefined) return
    const feed = await client.json('GET', `${path}/docs`, { headers: { 'x-ms-max-item-count': '1000' } })
    const present = new Map((feed.Documents as { id: string; serial: string }[]).map(each => [each.id, each.serial]))
    if (sent?.kind === 'put' && present.get(sent.id) === sent.text) this.#apply(sent, found)
    const shown = (items: Map<string, string>) => JSON.stringify([...items].sort())
    check(shown(present) === shown(this.#items), `scratch holds ${shown(present)} and not ${shown(this.#items)}`)
  }

  #draw(random: Random): Step {
    const id = `i${random.between(1, 6)}`
    const text = `${random.fraction()}`
    const isEnough = random.chance(0.25)
    if (this.#items === undefined) return { kind: 'create' }
    return isEnough ? { kind: 'delete' } : { kind: 'put', id, text }
  }

  #send(client: Client, step: Step): Promise<Reply> {
    if (step.kind === 'delete') return client.send('DELETE', path)
    if (step.kind === 'create') {
      const body = JSON.stringify({ id: 'scratch', partitionKey: { paths: ['/pk'], kind: 'Hash' } })
      return client.send('POST', '/dbs/crash/colls', { body })
    }
    const headers = { 'x-ms-documentdb-partitionkey': '["p"]', 'x-ms-documentdb-is-upsert': 'true' }
    const body = JSON.stringify({ id: step.id, pk: 'p', serial: step.text })
    // Created or replaced: the name may be in use already, and both are success.
    return client
      .send('POST', `${path}/docs`, { headers, body })
      .then(reply => (reply.status === 200 ? { ...reply, status: 201 } : reply))
  }

  #apply(step: Step, { text }: Reply): void {
    if (step.kind === 'delete') this.#items = undefined
    else if (step.kind === 'put') this.#items!.set(step.id, step.text)
    else {
      this.#items = new Map()
      this.builtCount++
      const { _rid } = JSON.parse(text)
      check(!this.#rids.has(_rid), `the resource id ${_rid} was given to two containers`)
      this.#rids.add(_rid)
    }
  }
}

const expected = { create: 201, delete: 204, put: 201 } as const
