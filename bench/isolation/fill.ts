/** Fills a server with what hostile works read, over both APIs. */

import { serialize } from 'bson'
import { askMongo, openMongo, opMsg } from '../mongo-wire.ts'
import { Clients, itemRequest } from '../query-items.ts'
import { DATABASE, signedRequest } from '../requests.ts'
import { createContainer } from '../targets.ts'
import type { Ports } from './asking.ts'
import {
  CONTAINER,
  INDEXED,
  largeItems,
  MONGO_DATABASE,
  type NamedItem,
  SMALL_ITEMS,
  scripts,
  smallItem,
} from './hostile-data.ts'

const perMessage = 1000

/** The database must be there. */
export async function fillHostileData({ http, mongo }: Ports, smallItems = SMALL_ITEMS): Promise<void> {
  await createContainer(http, CONTAINER, -1)
  const compositeIndexes = [[{ path: '/k' }, { path: '/n' }]]
  await createContainer(http, INDEXED, -1, { indexingPolicy: { compositeIndexes } })
  {
    using clients = await Clients.open(http)
    for (const item of largeItems) await clients.ask(itemRequest(INDEXED, { ...item, k: 1 }), 201)
    for (const item of largeItems) await clients.ask(itemRequest(CONTAINER, item), 201)
    await clients.storm(smallItems, n => itemRequest(CONTAINER, smallItem(n)), 201)
    for (const [kind, bodies] of Object.entries(scripts)) {
      for (const [id, body] of Object.entries(bodies)) {
        const trigger = kind === 'triggers' ? { triggerType: 'Pre', triggerOperation: 'All' } : {}
        const request = signedRequest({
          method: 'POST',
          path: `/dbs/${DATABASE}/colls/${CONTAINER}/${kind}`,
          body: JSON.stringify({ id, body, ...trigger }),
        })
        await clients.ask(request, 201)
      }
    }
  }
  const { promise: failure, reject } = Promise.withResolvers<never>()
  const connection = await openMongo(mongo, reject)
  const insert = (items: readonly NamedItem[]) => {
    const documents = items.map(({ id, ...fields }) => serialize({ _id: id, ...fields }))
    const sequence = { name: 'documents', documents: Buffer.concat(documents) }
    return Promise.race([askMongo(connection, opMsg({ insert: CONTAINER, $db: MONGO_DATABASE }, sequence)), failure])
  }
  await insert(largeItems)
  for (let first = 0; first < smallItems; first += perMessage) {
    const count = Math.min(perMessage, smallItems - first)
    await insert(Array.from({ length: count }, (_, n) => smallItem(first + n)))
  }
  connection.close()
}
