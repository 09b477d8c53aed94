/** What the prose of a page takes for granted: a running server, files, and the first lines of a program. */

export interface Given {
  /** The command is on the PATH: of those who run Mayfly as a service. Others type `npx mayfly`. */
  readonly isOnPath?: true
  /** Flags of a server that runs before the first block. */
  readonly server?: readonly string[]
  /** Commands that a reader has done before: they make files and data. */
  readonly shell?: string
  /** Stands before the JavaScript of the page. */
  readonly before?: string
  /** Stands behind it, and looks whether it worked. */
  readonly behind?: string
}

const cosmos = `
import { ChangeFeedMode, ChangeFeedPolicy, ChangeFeedRetentionTimeSpan } from '@azure/cosmos'
import { ChangeFeedStartFrom, CosmosClient } from '@azure/cosmos'
const { database } = await new CosmosClient(process.env.COSMOS_CONNECTION_STRING).databases.create({ id: 'page' })
const { container } = await database.containers.create({ id: 'items', partitionKey: '/pk', defaultTtl: -1 })
const use = item => item
`
const server = ['--memory']

export const givens: Readonly<Record<string, Given>> = {
  'README.md': {
    server,
    shell: `
cat > package.json <<'END'
{"scripts": {"test": "node app.mjs"}}
END
echo "if (!(await fetch(process.env.COSMOS_ENDPOINT + '/alive')).ok) process.exit(1)" > app.mjs
`,
  },
  'docs/production.md': { isOnPath: true },
  'docs/upgrade.md': { server, isOnPath: true },
  'docs/query.md': {
    server,
    shell: `
echo '{"id": "c1", "customer": "ann", "total": 120, "lines": [{"sku": "tea", "count": 2}]}' > carts.jsonl
npx mayfly import carts.jsonl --database shop --container carts --partition-key /customer
`,
  },
  'docs/move-from-the-emulator.md': {
    server: ['--memory', '--no-mongo', '--port', '8082'],
    shell: `
cat > seed.json <<'END'
{"databases": [{"id": "shop", "containers": [
  {"id": "carts", "partitionKey": "/customerId", "items": [{"id": "c1", "customerId": "ann"}]}
]}]}
END
npx mayfly seed seed.json --endpoint http://127.0.0.1:8082
`,
  },
  'docs/data-in-and-out.md': {
    server,
    shell: `
echo '{"id": "c1", "userId": "u1", "total": 120}' > carts.jsonl
echo '[{"_id": 1, "name": "Ada"}]' | gzip > people.json.gz
printf 'id,name\\n1,tea\\n' > rows.csv
`,
  },
  'docs/change-feed.md': {
    server,
    before: `${cosmos}\nawait container.items.create({ id: '1', pk: 'a' })\n`,
    behind: '\nprocess.exit(everything.hasMoreResults ? 0 : 1)\n',
  },
  'docs/scripts.md': {
    server,
    before: `${cosmos}\nawait container.items.create({ id: 'account', pk: 'alice', total: 1 })\n`,
    behind: '\nprocess.exit(total === 6 ? 0 : 1)\n',
  },
  'docs/mongo.md': {
    server,
    behind: `
if ((await ann.db().collection('carts').countDocuments()) < 3) process.exit(1)
await ann.close()
await client.close()
`,
  },
}
