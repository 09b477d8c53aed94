/** A container with an item, and a check that a refused request changed nothing there. */

import assert from 'node:assert/strict'
import type { Container, ContainerRequest } from '@azure/cosmos'
import { assertServiceError } from './service-error.ts'
import type { RawRequest } from './signed-request.ts'
import { pathOf, type TestServer } from './start-server.ts'

export interface Refusal {
  readonly status: number
  readonly substatus?: number
  readonly text?: string | RegExp
}

export class Witness {
  readonly container: Container
  readonly #server: TestServer

  private constructor(server: TestServer, container: Container) {
    this.#server = server
    this.container = container
  }

  /** The item `one` in partition `a`, in a container with a default TTL. */
  static async make(server: TestServer, definition: Partial<ContainerRequest> = {}): Promise<Witness> {
    const container = await server.newContainer({ defaultTtl: 1000, ...definition })
    const answer = await server.send({
      method: 'POST',
      path: pathOf(container, 'docs'),
      headers: { 'x-ms-documentdb-partitionkey': '["a"]' },
      body: { id: 'one', pk: 'a', value: 1 },
    })
    assert.equal(answer.status, 201, answer.text)
    return new Witness(server, container)
  }

  /** The state as text. It also shows that the server still answers after a refusal. */
  async state(): Promise<string> {
    const feed = await this.#server.send({ path: pathOf(this.container, 'docs') })
    const definition = await this.#server.send({ path: pathOf(this.container) })
    const siblings = await this.#server.send({ path: `/dbs/${this.container.database.id}/colls` })
    for (const { status, text } of [feed, definition, siblings]) assert.equal(status, 200, text)
    return [feed, definition, siblings].map(({ text }) => text).join('\n')
  }

  /** A write of an item: create, upsert, or replace of `one`. */
  write(kind: 'create' | 'upsert' | 'replace', body: unknown, headers: RawRequest['headers'] = {}): RawRequest {
    return {
      method: kind === 'replace' ? 'PUT' : 'POST',
      path: kind === 'replace' ? pathOf(this.container, 'docs', 'one') : pathOf(this.container, 'docs'),
      headers: {
        'x-ms-documentdb-partitionkey': '["a"]',
        ...(kind === 'upsert' ? { 'x-ms-documentdb-is-upsert': 'true' } : {}),
        ...headers,
      },
      body,
    }
  }

  async assertRefused(request: RawRequest, { status, substatus, text }: Refusal): Promise<void> {
    const before = await this.state()
    const said = assertServiceError(await this.#server.send(request), status, substatus)
    if (typeof text === 'string') assert.equal(said, text)
    else if (text !== undefined) assert.match(said, text)
    assert.equal(await this.state(), before, 'nothing was stored or changed')
  }
}
