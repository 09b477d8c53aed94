/** First programs, ready to run: connect, make a container, write an item that dies in a minute. */

import type { Session } from '../../api/shapes.ts'
import type { CodeLanguage } from '../../components/highlight.ts'

export interface Snippet {
  name: string
  language: CodeLanguage
  text: string
}

const javascript = (endpoint: string, key: string) => `import { CosmosClient } from '@azure/cosmos'

const client = new CosmosClient({
  endpoint: '${endpoint}',
  key: '${key}',
})
const { database } = await client.databases.createIfNotExists({ id: 'shop' })
const { container } = await database.containers.createIfNotExists({
  id: 'sessions',
  partitionKey: '/userId',
  defaultTtl: 3600,
})
await container.items.create({ id: 's1', userId: 'u1', ttl: 60 })   // dead in 60 s`

const csharp = (endpoint: string, key: string) => `using Microsoft.Azure.Cosmos;

var client = new CosmosClient("${endpoint}", "${key}",
    new CosmosClientOptions { ConnectionMode = ConnectionMode.Gateway });
Database shop = await client.CreateDatabaseIfNotExistsAsync("shop");
Container sessions = await shop.CreateContainerIfNotExistsAsync(
    new ContainerProperties("sessions", "/userId") { DefaultTimeToLive = 3600 });
await sessions.CreateItemAsync(new { id = "s1", userId = "u1", ttl = 60 });   // dead in 60 s`

const python = (endpoint: string, key: string) => `from azure.cosmos import CosmosClient, PartitionKey

client = CosmosClient("${endpoint}", "${key}")
shop = client.create_database_if_not_exists("shop")
sessions = shop.create_container_if_not_exists(
    "sessions", PartitionKey("/userId"), default_ttl=3600)
sessions.create_item({"id": "s1", "userId": "u1", "ttl": 60})   # dead in 60 s`

const allowHttpInJava = 'System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true");\n'

const java = (endpoint: string, key: string) => `import com.azure.cosmos.*;
import com.azure.cosmos.models.*;
import java.util.Map;

${endpoint.startsWith('http:') ? allowHttpInJava : ''}CosmosClient client = new CosmosClientBuilder()
    .endpoint("${endpoint}")
    .key("${key}")
    .gatewayMode()
    .buildClient();
client.createDatabaseIfNotExists("shop");
CosmosDatabase shop = client.getDatabase("shop");
shop.createContainerIfNotExists(
    new CosmosContainerProperties("sessions", "/userId").setDefaultTimeToLiveInSeconds(3600));
shop.getContainer("sessions")
    .createItem(Map.of("id", "s1", "userId", "u1", "ttl", 60));   // dead in 60 s`

const go = (endpoint: string, key: string) => `package main

import (
	"context"

	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

func main() {
	ctx := context.Background()
	credential, _ := azcosmos.NewKeyCredential("${key}")
	client, _ := azcosmos.NewClientWithKey("${endpoint}", credential, nil)
	client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "shop"}, nil)
	shop, _ := client.NewDatabase("shop")
	ttl := int32(3600)
	shop.CreateContainer(ctx, azcosmos.ContainerProperties{
		ID:                     "sessions",
		PartitionKeyDefinition: azcosmos.PartitionKeyDefinition{Paths: []string{"/userId"}},
		DefaultTimeToLive:      &ttl,
	}, nil)
	sessions, _ := shop.NewContainer("sessions")
	item := []byte(\`{"id":"s1","userId":"u1","ttl":60}\`)
	sessions.CreateItem(ctx, azcosmos.NewPartitionKeyString("u1"), item, nil) // dead in 60 s
}`

const mongosh = (uri: string) => `// mongosh "${uri}"

use shop
db.tickets.createIndex({ _ts: 1 }, { expireAfterSeconds: 3600 })
db.tickets.insertOne({ _id: 't1', status: 'open' })   // dies an hour after its last write`

/** One program for each language; the server's own addresses stand in them. */
export function snippetsOf({ endpoint, key, mongoUri }: Session): Snippet[] {
  const address = (endpoint ?? location.origin).replace(/\/$/, '')
  const secret = key ?? '<key>'
  return [
    { name: 'JavaScript', language: 'javascript', text: javascript(address, secret) },
    { name: 'C#', language: 'csharp', text: csharp(address, secret) },
    { name: 'Python', language: 'python', text: python(address, secret) },
    { name: 'Java', language: 'java', text: java(address, secret) },
    { name: 'Go', language: 'go', text: go(address, secret) },
    ...(mongoUri ? [{ name: 'mongosh', language: 'javascript' as const, text: mongosh(mongoUri) }] : []),
  ]
}
