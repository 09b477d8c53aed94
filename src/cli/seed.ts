/** mayfly seed: loads databases, containers and items into a running server that has none. */

import { randomUUID } from 'node:crypto'
import { RequestError } from '../base/error.ts'
import { importRows } from '../transfer/import-rows.ts'
import { readSeed } from '../transfer/seed.ts'
import { listServer } from './remote-listing.ts'
import { RemoteTarget } from './remote-target.ts'
import { type ConnectionFlags, pathOf, ServerConnection } from './server-connection.ts'

export async function seed(path: string, flags: ConnectionFlags & { readonly json?: boolean }): Promise<void> {
  const { containers } = readSeed(path)
  const connection = new ServerConnection(flags)
  const present = await listServer(connection)
  let items = 0
  if (present.length > 0) {
    const names = present.map(({ id }) => id).join(', ')
    process.stderr.write(`The server has databases (${names}). A seed is for an empty one: nothing was done.\n`)
  } else {
    for (const { database, container, api, partitionKey, definition, rows } of containers) {
      const query = { create: api, partitionKey, definition: JSON.stringify(definition) }
      await connection.call('POST', `import/${pathOf(database, container)}`, { query })
      const options = { database, container, mode: 'upsert', keepTtl: 'reset', job: randomUUID() } as const
      await importRows(rows(), new RemoteTarget(connection, options), {
        onBatch: ({ counts, refused }) => {
          items += counts.created + counts.replaced
          const [first] = refused
          if (first === undefined) return
          const place = `${path}, line ${first.line} (${database}/${container})`
          const advice = 'What came before it is loaded: call POST /_mayfly/reset before you try again.'
          throw new RequestError('malformed', `${place}: ${first.reason.replace(/\.?$/, '.')} ${advice}`)
        },
      })
    }
  }
  const done = { loaded: present.length === 0, containers: present.length === 0 ? containers.length : 0, items }
  if (flags.json === true) process.stdout.write(`${JSON.stringify(done)}\n`)
  else if (done.loaded) process.stdout.write(`${path}: ${done.containers} containers, ${items} items.\n`)
}
