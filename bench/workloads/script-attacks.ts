/**
 * Reads items during attacks by scripts: what other clients notice of each kind of attack.
 */

import { ask, type HttpConnection, openHttp } from '../http.ts'
import type { Load } from '../processes.ts'
import { type Finding, figure } from '../report.ts'
import { DATABASE, signedRequest } from '../requests.ts'
import { createContainer, createDatabase, scratchFolder, startMayfly } from '../targets.ts'
import { fill } from '../throughput.ts'
import type { Workload } from '../workload.ts'

const CONTAINER = 'items'
const ITEMS = 10_000
const ITEM_BYTES = 1024
const READERS = 8
/** More than there are script threads, so that some always wait. */
const ATTACKERS = 4
/** The longest p99 of other requests during an attack. */
const P99_MS_MAX = 50

const item = (bytes: string) => `{ id: String(i++), pk: 'attack', text: 'x'.repeat(${bytes}) }`

/** Function bodies. Each is run again as soon as it was stopped, was refused or has ended. */
const ATTACKS: Readonly<Record<string, string>> = {
  escapes: 'return this.constructor.constructor("return process")().exit()',
  'infinite loops': 'for (;;);',
  'loops that catch their end': 'for (;;) { try { for (;;); } catch {} finally { continue } }',
  'built-ins that take long': 'const a = "x".repeat(4e6), b = "x".repeat(4e6) + ""; for (;;) a < b',
  'deep recursion': 'function f() { try { return f() + f() } catch { return f() } } f()',
  'memory bombs': 'const a = []; for (;;) a.push(new Array(1000).fill(1))',
  'bombs that catch their end':
    'const a = []; for (;;) { try { for (;;) a.push("x".repeat(1e6) + a.length) } catch {} }',
  'huge responses': '__.response.setBody("x".repeat(4 * 1024 * 1024 - 2))',
  'responses without end': 'for (;;) __.response.appendBody("y".repeat(100000))',
  'calls without end': 'for (;;) __.readDocument(__.getAltLink() + "/docs/none")',
  'huge writes': `let i = 0; for (;;) __.createDocument(__.getSelfLink(), ${item('2e6')})`,
  'queries without end': 'for (;;) __.queryDocuments(__.getSelfLink(), "SELECT * FROM c")',
}

/** Runs a stored procedure again and again on separate connections until it is told to stop. */
async function attack(port: number, path: string): Promise<{ readonly stop: () => Promise<number> }> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  failure.catch(() => {})
  let isOver = false
  let answers = 0
  const connections = await Promise.all(Array.from({ length: ATTACKERS }, () => openHttp(port, reject)))
  const repeat = async (connection: HttpConnection) => {
    while (!isOver) {
      const request = signedRequest({
        method: 'POST',
        path,
        headers: { 'x-ms-documentdb-partitionkey': '["attack"]' },
        body: '[]',
      })
      await Promise.race([connection.ask(request), failure])
      answers++
    }
  }
  const running = Promise.all(connections.map(repeat))
  return {
    stop: async () => {
      isOver = true
      await running
      for (const connection of connections) connection.close()
      return answers
    },
  }
}

async function readP99(load: Load, port: number, ms: number): Promise<number> {
  await load.prepare({
    port,
    connections: READERS,
    requests: { kind: 'read', container: CONTAINER, items: ITEMS },
    answers: { status: 200 },
    atMost: { ms },
  })
  return (await load.run()).p99Ms
}

export const scriptAttacks: Workload = {
  name: 'script-attacks',
  async run({ load, quick }) {
    const ms = quick ? 300 : 6000
    using folder = scratchFolder()
    await using server = await startMayfly(folder.path)
    const { port } = server
    await createDatabase(port)
    await createContainer(port, CONTAINER)
    await fill(load, server, { container: CONTAINER, count: ITEMS, bytes: ITEM_BYTES })
    await readP99(load, port, ms / 3)

    const rows: string[][] = []
    const findings: Finding[] = []
    const sprocs = `/dbs/${DATABASE}/colls/${CONTAINER}/sprocs`
    for (const [at, [kind, body]] of Object.entries(ATTACKS).entries()) {
      const id = `attack-${at}`
      await createScript(port, sprocs, { id, body: `function () { ${body} }` })
      const before = await readP99(load, port, ms / 3)
      const attacking = await attack(port, `${sprocs}/${id}`)
      const during = await readP99(load, port, ms)
      const answers = await attacking.stop()
      rows.push([kind, figure(answers), figure(before, 2), figure(during, 2)])
      findings.push(
        { text: `read p99 during ${kind}`, value: during, unit: ' ms', bound: { atMost: P99_MS_MAX } },
        { text: `read p99 during ${kind} / before`, value: during / before, digits: 1 },
      )
    }
    return {
      title:
        `script-attacks: ${READERS} connections read items of 1 KB while ${ATTACKERS} run a stored procedure, ` +
        `${figure(ms / 1000, 1)} s for each kind`,
      columns: ['attack', 'runs', 'p99 ms before', 'p99 ms during'],
      rows,
      findings,
      notes: ['runs: how often the script was stopped, refused or came to its end'],
    }
  },
}

async function createScript(port: number, path: string, script: { readonly id: string; readonly body: string }) {
  const answer = await ask(port, signedRequest({ method: 'POST', path, body: JSON.stringify(script) }))
  if (answer.status !== 201) throw new Error(`Answered ${answer.status}: ${answer.body.slice(0, 300)}`)
}
