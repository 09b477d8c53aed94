// What a program does with Mayfly through MongoDB.Driver, the official driver for .NET.
// Nobody has compiled or run this program yet.

using System.Net.Http.Json;
using System.Security.Cryptography.X509Certificates;
using MongoDB.Bson;
using MongoDB.Bson.Serialization.Attributes;
using MongoDB.Driver;
using MongoDB.Driver.GridFS;

var uri = Environment.GetEnvironmentVariable("MONGODB_URI")!;
var client = new MongoClient(uri);
var shop = client.GetDatabase("shop");
var carts = shop.GetCollection<Cart>("carts");
var sessions = shop.GetCollection<BsonDocument>("sessions");

// Moves the clock of Mayfly, which stands still otherwise.
async Task AdvanceClock(string duration)
{
    using var http = new HttpClient();
    var clock = $"{Environment.GetEnvironmentVariable("MAYFLY_ENDPOINT")}/_mayfly/clock";
    (await http.PostAsJsonAsync(clock, new { advance = duration })).EnsureSuccessStatusCode();
}

Task<Cart?> FindCart(string id) => carts.Find(cart => cart.Id == id).FirstOrDefaultAsync()!;

Task<BsonDocument?> FindSession(string id) => sessions.Find(new BsonDocument("_id", id)).FirstOrDefaultAsync()!;

async Task<ChangeStreamDocument<T>> Next<T>(IChangeStreamCursor<ChangeStreamDocument<T>> stream)
{
    while (await stream.MoveNextAsync())
    {
        if (stream.Current.FirstOrDefault() is { } found) return found;
    }
    throw new Exception("the stream ended");
}

// Documents

await Report.Step("connect", async () =>
    Report.Equal((await (await client.ListDatabaseNamesAsync()).ToListAsync()).Contains("admin"), true));

await Report.Step("insert", async () =>
{
    await carts.InsertOneAsync(new Cart("cart0", "ann", 0));
    await carts.InsertManyAsync(Enumerable.Range(1, 39).Select(n => new Cart($"cart{n}", $"c{(n - 1) % 4}", n)));
    Report.Equal(await carts.CountDocumentsAsync(_ => true), 40);
});

await Report.Step("find", async () =>
{
    Report.Equal((await FindCart("cart7"))?.Total, 7);
    var found = carts.Find(cart => cart.Total >= 37).SortByDescending(cart => cart.Total).Project(cart => cart.Total);
    Report.Equal(await found.ToListAsync(), [39, 38, 37]);
});

await Report.Step("cursor", async () =>
{
    var options = new FindOptions { BatchSize = 7 };
    var seen = await carts.Find(_ => true, options).SortBy(cart => cart.Total).ToListAsync();
    Report.Equal(seen.Select(cart => cart.Total).ToArray(), Enumerable.Range(0, 40).ToArray());
});

await Report.Step("collation", async () =>
{
    var options = new FindOptions { Collation = new Collation("en", strength: CollationStrength.Secondary) };
    Report.Equal((await carts.Find(cart => cart.Customer == "ANN", options).FirstAsync()).Id, "cart0");
});

await Report.Step("update", async () =>
{
    var change = Builders<Cart>.Update.Inc(cart => cart.Total, 100).Push(cart => cart.Items, "book");
    Report.Equal((await carts.UpdateOneAsync(cart => cart.Id == "cart1", change)).ModifiedCount, 1);
    var changed = await FindCart("cart1");
    Report.Equal(changed?.Total, 101);
    Report.Equal(changed?.Items, ["book"]);
    var empty = Builders<Cart>.Update.Set(cart => cart.Items, new List<string>());
    Report.Equal((await carts.UpdateManyAsync(cart => cart.Customer == "c1", empty)).MatchedCount, 10);
});

await Report.Step("upsert", async () =>
{
    var change = Builders<Cart>.Update.Set(cart => cart.Customer, "bob").Set(cart => cart.Total, 1);
    var made = await carts.UpdateOneAsync(cart => cart.Id == "new", change, new UpdateOptions { IsUpsert = true });
    Report.Equal(made.UpsertedId.AsString, "new");
});

await Report.Step("replace", async () =>
{
    await carts.ReplaceOneAsync(cart => cart.Id == "new", new Cart("new", "bob", 2));
    Report.Equal((await FindCart("new"))?.Total, 2);
});

await Report.Step("find-and-modify", async () =>
{
    var options = new FindOneAndUpdateOptions<Cart> { ReturnDocument = ReturnDocument.After };
    var change = Builders<Cart>.Update.Inc(cart => cart.Total, 1);
    Report.Equal((await carts.FindOneAndUpdateAsync<Cart>(cart => cart.Id == "new", change, options)).Total, 3);
});

await Report.Step("delete", async () =>
{
    Report.Equal((await carts.DeleteOneAsync(cart => cart.Id == "new")).DeletedCount, 1);
    Report.Equal(await carts.CountDocumentsAsync(_ => true), 40);
});

await Report.Step("unique-index", async () =>
{
    var members = shop.GetCollection<BsonDocument>("members");
    var options = new CreateIndexOptions { Unique = true };
    await members.Indexes.CreateOneAsync(new CreateIndexModel<BsonDocument>("{ email: 1 }", options));
    await members.InsertOneAsync(new BsonDocument("email", "ann@example.com"));
    var second = new BsonDocument("email", "ann@example.com");
    Report.Equal(await Report.Refusal(() => members.InsertOneAsync(second)), 11000);
});

await Report.Step("bulk", async () =>
{
    var bulk = Builders<Cart>.Filter.Eq(cart => cart.Id, "bulk");
    var result = await carts.BulkWriteAsync(
    [
        new InsertOneModel<Cart>(new Cart("bulk", "bob", 1)),
        new UpdateOneModel<Cart>(bulk, Builders<Cart>.Update.Inc(cart => cart.Total, 1)),
        new DeleteOneModel<Cart>(bulk),
    ]);
    Report.Equal<long[]>([result.InsertedCount, result.ModifiedCount, result.DeletedCount], [1, 1, 1]);
});

// Pipelines

await Report.Step("aggregate", async () =>
{
    var groups = await carts.Aggregate()
        .Match(cart => cart.Customer != "ann")
        .Group(cart => cart.Customer, group => new { Customer = group.Key, Carts = group.Count() })
        .SortBy(group => group.Customer)
        .ToListAsync();
    Report.Equal(groups[0], new { Customer = "c0", Carts = 10 });
});

await Report.Step("lookup", async () =>
{
    var paris = new BsonDocument { { "_id", "ann" }, { "city", "Paris" } };
    await shop.GetCollection<BsonDocument>("customers").InsertOneAsync(paris);
    var found = await carts.Aggregate()
        .Match(cart => cart.Customer == "ann")
        .Lookup("customers", "customer", "_id", "who")
        .FirstAsync();
    Report.Equal(found["who"][0]["city"].AsString, "Paris");
});

// Expiry by the manual clock

await Report.Step("ttl-index", async () =>
{
    var options = new CreateIndexOptions { ExpireAfter = TimeSpan.FromSeconds(60) };
    await sessions.Indexes.CreateOneAsync(new CreateIndexModel<BsonDocument>("{ _ts: 1 }", options));
    var indexes = await (await sessions.Indexes.ListAsync()).ToListAsync();
    Report.Equal(indexes[1]["expireAfterSeconds"].ToInt32(), 60);
});

await Report.Step("expiry-find", async () =>
{
    var longer = new BsonDocument { { "_id", "longer" }, { "ttl", 90 } };
    await sessions.InsertManyAsync([new BsonDocument("_id", "default"), longer]);
    await AdvanceClock("59s");
    Report.Equal(await FindSession("default") is null, false);
    await AdvanceClock("1s");
    Report.Equal(await FindSession("default") is null, true);
    Report.Equal(await FindSession("longer") is null, false);
});

await Report.Step("expiry-count", async () =>
{
    Report.Equal(await sessions.CountDocumentsAsync(new BsonDocument()), 1);
    var groups = await sessions.Aggregate().Group("{ _id: '$_id' }").ToListAsync();
    Report.Equal(groups.Select(group => group["_id"].AsString).ToArray(), ["longer"]);
});

// Sessions and transactions

await Report.Step("session", async () =>
{
    using var session = await client.StartSessionAsync(new ClientSessionOptions { CausalConsistency = true });
    await carts.InsertOneAsync(session, new Cart("causal", "ann", 1));
    Report.Equal((await carts.Find(session, cart => cart.Id == "causal").FirstAsync()).Total, 1);
});

await Report.Step("transaction", async () =>
{
    using var session = await client.StartSessionAsync();
    await session.WithTransactionAsync(async (inside, cancel) =>
    {
        await carts.InsertOneAsync(inside, new Cart("paid", "bob", 5), cancellationToken: cancel);
        return await carts.DeleteOneAsync(inside, cart => cart.Id == "causal", cancellationToken: cancel);
    });
    Report.Equal((await FindCart("paid"))?.Total, 5);
    Report.Equal(await FindCart("causal") is null, true);
});

await Report.Step("transaction-abort", async () =>
{
    using var session = await client.StartSessionAsync();
    session.StartTransaction();
    await carts.DeleteOneAsync(session, cart => cart.Id == "paid");
    await session.AbortTransactionAsync();
    Report.Equal((await FindCart("paid"))?.Total, 5);
});

// Change streams

await Report.Step("change-stream", async () =>
{
    ChangeStreamDocument<Cart> first;
    using (var stream = await carts.WatchAsync())
    {
        await carts.InsertOneAsync(new Cart("watched", "bob", 1));
        first = await Next(stream);
    }
    Report.Equal(first.OperationType, ChangeStreamOperationType.Insert);
    Report.Equal(first.DocumentKey["_id"].AsString, "watched");
    await carts.UpdateOneAsync(cart => cart.Id == "watched", Builders<Cart>.Update.Set(cart => cart.Total, 2));
    using var resumed = await carts.WatchAsync(new ChangeStreamOptions { ResumeAfter = first.ResumeToken });
    Report.Equal((await Next(resumed)).OperationType, ChangeStreamOperationType.Update);
});

await Report.Step("change-stream-expiry", async () =>
{
    using var stream = await sessions.WatchAsync();
    await AdvanceClock("30s");
    // An event comes when the document is purged: that of an earlier death may come first.
    var death = await Next(stream);
    while (death.DocumentKey["_id"] != "longer") death = await Next(stream);
    Report.Equal(death.OperationType, ChangeStreamOperationType.Delete);
});

// Users, files, TLS

await Report.Step("users", async () =>
{
    await shop.RunCommandAsync<BsonDocument>("{ createUser: 'reader', pwd: 'secret', roles: ['read'] }");
    var settings = MongoClientSettings.FromConnectionString(uri);
    settings.Credential = MongoCredential.CreateCredential("shop", "reader", "secret");
    using var reader = new MongoClient(settings);
    var seen = reader.GetDatabase("shop").GetCollection<Cart>("carts");
    Report.Equal((await seen.Find(cart => cart.Id == "paid").FirstAsync()).Total, 5);
    Report.Equal(await Report.Refusal(() => seen.DeleteOneAsync(cart => cart.Id == "paid")), 13);
});

await Report.Step("gridfs", async () =>
{
    var bucket = new GridFSBucket(shop, new GridFSBucketOptions { ChunkSizeBytes = 1000 });
    await bucket.UploadFromBytesAsync("letter.txt", new byte[2500]);
    Report.Equal((await bucket.DownloadAsBytesByNameAsync("letter.txt")).Length, 2500);
});

await Report.Step("tls", async () =>
{
    var authority = X509Certificate2.CreateFromPem(
        await File.ReadAllTextAsync(Environment.GetEnvironmentVariable("MAYFLY_CERTIFICATE")!));
    var settings = MongoClientSettings.FromConnectionString(uri);
    settings.UseTls = true;
    settings.SslSettings = new SslSettings
    {
        ServerCertificateValidationCallback = (_, certificate, chain, _) =>
        {
            chain!.ChainPolicy.TrustMode = X509ChainTrustMode.CustomRootTrust;
            chain.ChainPolicy.CustomTrustStore.Add(authority);
            return chain.Build((X509Certificate2)certificate!);
        },
    };
    using var secure = new MongoClient(settings);
    var seen = secure.GetDatabase("shop").GetCollection<Cart>("carts");
    Report.Equal((await seen.Find(cart => cart.Id == "paid").FirstAsync()).Total, 5);
});

await Report.Step("drop", async () =>
{
    await client.DropDatabaseAsync("shop");
    Report.Equal(await carts.CountDocumentsAsync(_ => true), 0);
});

[BsonIgnoreExtraElements]
class Cart(string id, string customer, int total)
{
    [BsonId] public string Id { get; set; } = id;
    [BsonElement("customer")] public string Customer { get; set; } = customer;
    [BsonElement("total")] public int Total { get; set; } = total;
    [BsonElement("items"), BsonIgnoreIfNull] public List<string>? Items { get; set; }
}
