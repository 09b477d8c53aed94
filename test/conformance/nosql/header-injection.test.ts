/**
 * Names, keys, messages and logs that try to add a header to an answer, on both ways in which connections are
 * served.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RawAnswer, RawRequest } from '../../support/signed-request.ts'
import { startServer } from '../../support/start-server.ts'

const server = await startServer()

/** In latin1, U+010D and U+010A are written as CR and LF. */
const attacks = ['a\r\nx-injected: 1', 'a\nx-injected: 1', 'a\rx-injected: 1', 'a\u010d\u010ax-injected: 1\u010d\u010a']

/** A connection that is to be closed is not plain, so node:http serves it. */
const lanes: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'the fast lane': {},
  'node:http': { connection: 'close' },
}

for (const [lane, headers] of Object.entries(lanes)) {
  async function send(request: RawRequest, status: number): Promise<RawAnswer> {
    const answer = await server.send({ ...request, headers: { ...headers, ...request.headers } })
    assert.equal(answer.headers['keep-alive'] === undefined, lane === 'node:http')
    assert.equal(answer.headers['x-injected'], undefined)
    assert.equal(answer.status, status, answer.text)
    return answer
  }
  const post = (path: string, body: unknown, more: Record<string, string> = {}, status = 201) =>
    send({ method: 'POST', path, body, headers: more }, status)

  describe(`over ${lane}`, () => {
    for (const text of attacks) {
      const name = encodeURIComponent(text)
      const withKey = { 'x-ms-documentdb-partitionkey': JSON.stringify([text]).replace(/[^ -~]/g, asEscape) }
      const oneAtATime = { 'x-ms-max-item-count': '1' }

      test(`names with ${JSON.stringify(text)}`, async () => {
        const database = `/dbs/${name}`
        const container = `${database}/colls/${name}`
        await post('/dbs', { id: text })
        await post(`${database}/colls`, { id: text, partitionKey: { paths: ['/pk'], kind: 'Hash' } })
        await post(`${database}/colls`, { id: 'other', partitionKey: { paths: ['/pk'], kind: 'Hash' } })
        await post(`${database}/users`, { id: text })
        await post(`${database}/users/${name}/permissions`, {
          id: text,
          permissionMode: 'All',
          resource: `dbs/${text}/colls/${text}`,
        })
        await post(`${container}/docs`, { id: text, pk: text }, withKey)
        await post(`${container}/docs`, { id: `${text}2`, pk: text }, withKey)
        const body = 'function hostile(text) { console.log(text); getContext().getResponse().setBody(text) }'
        await post(`${container}/sprocs`, { id: text, body })
        await post(`${container}/triggers`, { id: text, body, triggerType: 'Pre', triggerOperation: 'All' })
        const logs = `function logs() { console.log(${JSON.stringify(text)}) }`
        await post(`${container}/triggers`, { id: 'logs', body: logs, triggerType: 'Pre', triggerOperation: 'All' })
        await post(`${container}/udfs`, { id: text, body: 'function twice(x) { return 2 * x }' })

        for (const path of [database, container, `${database}/users/${name}`]) await send({ path }, 200)
        await send({ path: `${database}/users/${name}/permissions/${name}` }, 200)
        await send({ path: `${container}/docs/${name}`, headers: withKey }, 200)
        for (const feed of [`${database}/colls`, `${container}/docs`]) {
          await send({ path: feed, headers: oneAtATime }, 200)
        }

        const logging = { ...withKey, 'x-ms-documentdb-script-enable-logging': 'true' }
        const run = await post(`${container}/sprocs/${name}`, [text], logging, 200)
        assert.equal(decodeURIComponent(String(run.headers['x-ms-documentdb-script-log-results'])), text)
        await post(
          `${container}/docs`,
          { id: 'third', pk: text },
          { ...logging, 'x-ms-documentdb-pre-trigger-include': 'logs' },
        )
      })

      test(`queries about ${JSON.stringify(text)}`, async () => {
        const query = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true', ...oneAtATime }
        const metrics = {
          'x-ms-cosmos-populateindexmetrics-V2': 'true',
          'x-ms-cosmos-populateindexmetrics': 'true',
          'x-ms-documentdb-populatequerymetrics': 'true',
        }
        const statement = `SELECT * FROM c WHERE c[${JSON.stringify(text)}] = 1 OR c.pk = ${JSON.stringify(text)}`
        const path = `/dbs/${name}/colls/${name}/docs`
        const first = await post(path, { query: statement }, { ...query, ...metrics, ...withKey }, 200)
        const continuation = String(first.headers['x-ms-continuation'])
        const next = { ...query, ...withKey, 'x-ms-continuation': continuation }
        await post(path, { query: statement }, next, 200)
      })

      test(`refusals about ${JSON.stringify(text)}`, async () => {
        await send({ path: `/dbs/${name}no` }, 404)
        await send({ path: `/dbs/${name}/colls/${name}/docs/${name}no`, headers: withKey }, 404)
        await send({ path: `/${name}` }, 404)
        await post('/dbs', { id: text }, {}, 409)
        await send({ path: `/dbs/${name}/colls/${name}/docs`, headers: { 'x-ms-continuation': name } }, 400)
        const body = 'function fails(text) { console.log(text); throw new Error(text) }'
        await post(`/dbs/${name}/colls/${name}/sprocs`, { id: `${text}fails`, body })
        const logging = { ...withKey, 'x-ms-documentdb-script-enable-logging': 'true' }
        await post(`/dbs/${name}/colls/${name}/sprocs/${name}fails`, [text], logging, 400)
        await send({ method: 'DELETE', path: `/dbs/${name}` }, 204)
      })
    }
  })
}

function asEscape(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
}
