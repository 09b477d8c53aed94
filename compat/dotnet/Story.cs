// What a program does with Mayfly through Microsoft.Azure.Cosmos, the official client for .NET.
// Nobody has compiled or run this program yet.

using System.Collections.Concurrent;
using System.Net;
using System.Net.Http.Json;
using Microsoft.Azure.Cosmos;
using Microsoft.Azure.Cosmos.Scripts;

var endpoint = Environment.GetEnvironmentVariable("COSMOS_ENDPOINT")!;
var key = Environment.GetEnvironmentVariable("COSMOS_KEY")!;

// Properties that are null must not be sent: "ttl": null is not a time to live.
CosmosClientOptions Options() => new()
{
    ConnectionMode = ConnectionMode.Gateway,
    SerializerOptions = new CosmosSerializationOptions { IgnoreNullValues = true },
};

using var client = new CosmosClient(endpoint, key, Options());
var database = client.GetDatabase("shop");
var carts = database.GetContainer("carts");
var orders = database.GetContainer("orders");
var sessions = database.GetContainer("sessions");

PartitionKey Key(string value) => new(value);

async Task<List<T>> QueryAll<T>(Container container, QueryDefinition query, QueryRequestOptions? options = null)
{
    var found = new List<T>();
    using var pages = container.GetItemQueryIterator<T>(query, requestOptions: options);
    while (pages.HasMoreResults) found.AddRange(await pages.ReadNextAsync());
    return found;
}

// Moves the clock of Mayfly, which stands still otherwise.
async Task AdvanceClock(string duration)
{
    using var http = new HttpClient();
    var answer = await http.PostAsJsonAsync($"{endpoint}/_mayfly/clock", new { advance = duration });
    answer.EnsureSuccessStatusCode();
}

// Databases and containers

await Report.Step("database", async () =>
{
    await client.CreateDatabaseAsync("shop");
    using var all = client.GetDatabaseQueryIterator<DatabaseProperties>();
    Report.Equal((await all.ReadNextAsync()).Select(found => found.Id).ToArray(), ["shop"]);
});

await Report.Step("container-ttl", async () =>
{
    await database.CreateContainerAsync(new ContainerProperties("carts", "/customer") { DefaultTimeToLive = 3600 });
    ContainerProperties properties = await carts.ReadContainerAsync();
    Report.Equal(properties.DefaultTimeToLive, 3600);
});

await Report.Step("partitions", async () =>
{
    await database.CreateContainerAsync(new ContainerProperties("orders", "/customer"), throughput: 20_000);
    Report.Equal((await orders.GetFeedRangesAsync()).Count >= 2, true);
    for (var n = 0; n < 40; n++) await orders.CreateItemAsync(new Cart($"o{n}", $"c{n % 8}", n));
});

// Items

await Report.Step("create", async () =>
{
    Cart created = await carts.CreateItemAsync(new Cart("cart1", "ann", 10), Key("ann"));
    Report.Equal(created.total, 10);
});

await Report.Step("read", async () =>
{
    Cart cart = await carts.ReadItemAsync<Cart>("cart1", Key("ann"));
    Report.Equal(cart.total, 10);
});

await Report.Step("replace", async () =>
{
    Cart replaced = await carts.ReplaceItemAsync(new Cart("cart1", "ann", 20), "cart1", Key("ann"));
    Report.Equal(replaced.total, 20);
});

await Report.Step("upsert", async () =>
{
    var changed = await carts.UpsertItemAsync(new Cart("cart1", "ann", 30), Key("ann"));
    Report.Equal(changed.StatusCode, HttpStatusCode.OK);
    var created = await carts.UpsertItemAsync(new Cart("cart2", "ann", 5), Key("ann"));
    Report.Equal(created.StatusCode, HttpStatusCode.Created);
});

await Report.Step("delete", async () =>
{
    await carts.DeleteItemAsync<Cart>("cart2", Key("ann"));
    Report.Equal(await Report.Refusal(() => carts.ReadItemAsync<Cart>("cart2", Key("ann"))), 404);
});

Report.Absent("by-object", "items are always named by id and partition key");

await Report.Step("read-many", async () =>
{
    var wanted = new List<(string, PartitionKey)>
    {
        ("o1", Key("c1")), ("o2", Key("c2")), ("o9", Key("c1")), ("none", Key("c1")),
    };
    var found = await orders.ReadManyItemsAsync<Cart>(wanted);
    Report.Equal(found.Select(order => order.id).Order().ToArray(), ["o1", "o2", "o9"]);
});

await Report.Step("item-ttl", async () =>
{
    await carts.CreateItemAsync(new Cart("short", "ann", ttl: 30), Key("ann"));
    Cart cart = await carts.ReadItemAsync<Cart>("short", Key("ann"));
    Report.Equal(cart.ttl, 30);
});

await Report.Step("etag", async () =>
{
    var created = await carts.CreateItemAsync(new Cart("tagged", "ann"), Key("ann"));
    var options = new ItemRequestOptions { IfMatchEtag = created.ETag };
    await carts.ReplaceItemAsync(new Cart("tagged", "ann", 1), "tagged", Key("ann"), options);
    var again = () => carts.ReplaceItemAsync(new Cart("tagged", "ann", 2), "tagged", Key("ann"), options);
    Report.Equal(await Report.Refusal(again), 412);
});

await Report.Step("unique-key", async () =>
{
    var properties = new ContainerProperties("members", "/club")
    {
        UniqueKeyPolicy = new UniqueKeyPolicy { UniqueKeys = { new UniqueKey { Paths = { "/email" } } } },
    };
    Container members = await database.CreateContainerAsync(properties);
    await members.CreateItemAsync(new { id = "1", club = "chess", email = "ann@example.com" });
    var second = new { id = "2", club = "chess", email = "ann@example.com" };
    Report.Equal(await Report.Refusal(() => members.CreateItemAsync(second)), 409);
});

await Report.Step("patch", async () =>
{
    await carts.CreateItemAsync(new Cart("patched", "ann", 1, coupons: ["a"]), Key("ann"));
    Cart patched = await carts.PatchItemAsync<Cart>("patched", Key("ann"), [
        PatchOperation.Increment("/total", 2),
        PatchOperation.Add("/coupons/-", "b"),
        PatchOperation.Set("/paid", true),
    ]);
    Report.Equal(patched, new Cart("patched", "ann", 3, coupons: ["a", "b"], paid: true));
});

await Report.Step("batch", async () =>
{
    using var done = await carts.CreateTransactionalBatch(Key("bob"))
        .CreateItem(new Cart("batch1", "bob"))
        .UpsertItem(new Cart("batch2", "bob"))
        .ExecuteAsync();
    Report.Equal(done.Select(result => (int)result.StatusCode).ToArray(), [201, 201]);
    using var undone = await carts.CreateTransactionalBatch(Key("bob"))
        .DeleteItem("batch1")
        .CreateItem(new Cart("batch2", "bob"))
        .ExecuteAsync();
    Report.Equal(undone.Select(result => (int)result.StatusCode).ToArray(), [424, 409]);
    await carts.ReadItemAsync<Cart>("batch1", Key("bob"));
});

await Report.Step("bulk", async () =>
{
    var options = Options();
    options.AllowBulkExecution = true;
    using var bulkClient = new CosmosClient(endpoint, key, options);
    var container = bulkClient.GetContainer("shop", "carts");
    var all = await Task.WhenAll(Enumerable.Range(0, 100).Select(n =>
        container.CreateItemAsync(new Cart($"bulk{n}", $"bulk{n % 7}"), Key($"bulk{n % 7}"))));
    Report.Equal(all.Count(answer => answer.StatusCode == HttpStatusCode.Created), 100);
});

// Queries

await Report.Step("query-partition", async () =>
{
    var query = new QueryDefinition("SELECT VALUE c.total FROM c WHERE c.total > 20 ORDER BY c.total DESC");
    var options = new QueryRequestOptions { PartitionKey = Key("c1") };
    Report.Equal(await QueryAll<int>(orders, query, options), [33, 25]);
});

await Report.Step("query-parameters", async () =>
{
    var query = new QueryDefinition("SELECT VALUE c.id FROM c WHERE c.customer = @customer AND c.total < @limit")
        .WithParameter("@customer", "c2")
        .WithParameter("@limit", 10);
    Report.Equal(await QueryAll<string>(orders, query), ["o2"]);
});

await Report.Step("query-across", async () =>
{
    var found = await QueryAll<Cart>(orders, new QueryDefinition("SELECT * FROM c WHERE c.total >= 30"));
    Report.Equal(found.Count, 10);
});

await Report.Step("order-by", async () =>
{
    var query = new QueryDefinition("SELECT VALUE c.total FROM c WHERE c.total >= 35 ORDER BY c.total DESC");
    Report.Equal(await QueryAll<int>(orders, query), [39, 38, 37, 36, 35]);
});

await Report.Step("aggregates", async () =>
{
    var query = new QueryDefinition("SELECT VALUE SUM(c.total) FROM c");
    Report.Equal(await QueryAll<double>(orders, query), [780]);
});

await Report.Step("group-by", async () =>
{
    var query = new QueryDefinition("SELECT c.customer, COUNT(1) AS total FROM c GROUP BY c.customer");
    var groups = await QueryAll<Cart>(orders, query);
    Report.Equal(groups.Select(group => group.total).ToArray(), [5, 5, 5, 5, 5, 5, 5, 5]);
});

int[] pageSizes = [3, 10];

// Reads a query page by page. Each page has an iterator of its own: the token is all that is kept.
async Task<List<int>> ReadPages(string query, int size, PartitionKey? partition = null)
{
    var totals = new List<int>();
    string? token = null;
    for (var count = 0; count < 40; count++)
    {
        var options = new QueryRequestOptions { MaxItemCount = size, PartitionKey = partition };
        using var pages = orders.GetItemQueryIterator<Cart>(query, token, options);
        var page = await pages.ReadNextAsync();
        totals.AddRange(page.Select(order => order.total));
        token = page.ContinuationToken;
        if (token == null) return totals;
    }
    throw new Exception("the pages do not end");
}

await Report.Step("paging", async () =>
{
    foreach (var size in pageSizes)
    {
        var totals = await ReadPages("SELECT * FROM c", size);
        Report.Equal(totals.Order().ToArray(), Enumerable.Range(0, 40).ToArray());
    }
});

await Report.Step("paging-order-by", async () =>
{
    foreach (var size in pageSizes)
    {
        var totals = await ReadPages("SELECT * FROM c ORDER BY c.total", size, Key("c1"));
        Report.Equal(totals.ToArray(), [1, 9, 17, 25, 33]);
    }
});

await Report.Step("paging-order-by-across", async () =>
{
    foreach (var size in pageSizes)
    {
        var totals = await ReadPages("SELECT * FROM c ORDER BY c.total", size);
        Report.Equal(totals.ToArray(), Enumerable.Range(0, 40).ToArray());
    }
});

// Change feed

async Task<(List<string> Ids, string Continuation)> ReadFeed(Container container, ChangeFeedStartFrom start)
{
    var ids = new List<string>();
    using var pages = container.GetChangeFeedIterator<Cart>(start, ChangeFeedMode.LatestVersion);
    while (true)
    {
        var page = await pages.ReadNextAsync();
        if (page.StatusCode == HttpStatusCode.NotModified) return (ids, page.ContinuationToken);
        ids.AddRange(page.Select(change => change.id));
    }
}

await Report.Step("change-feed", async () =>
{
    Container events = await database.CreateContainerAsync("events", "/customer");
    await events.CreateItemAsync(new Cart("1", "ann"));
    await events.CreateItemAsync(new Cart("2", "bob"));
    await events.UpsertItemAsync(new Cart("1", "ann", 1));
    var first = await ReadFeed(events, ChangeFeedStartFrom.Beginning());
    Report.Equal(first.Ids, ["2", "1"]);
    await events.CreateItemAsync(new Cart("3", "ann"));
    var next = await ReadFeed(events, ChangeFeedStartFrom.ContinuationToken(first.Continuation));
    Report.Equal(next.Ids, ["3"]);
});

await Report.Step("change-feed-across", async () =>
    Report.Equal((await ReadFeed(orders, ChangeFeedStartFrom.Beginning())).Ids.Count, 40));

await Report.Step("change-feed-processor", async () =>
{
    Container leases = await database.CreateContainerAsync("leases", "/id");
    var seen = new ConcurrentDictionary<string, bool>();
    Task Handle(IReadOnlyCollection<Cart> changes, CancellationToken stopping)
    {
        foreach (var change in changes) seen[change.id] = true;
        return Task.CompletedTask;
    }
    var processor = orders.GetChangeFeedProcessorBuilder<Cart>("story", Handle)
        .WithInstanceName("story")
        .WithLeaseContainer(leases)
        .WithStartTime(DateTime.MinValue.ToUniversalTime())
        .WithPollInterval(TimeSpan.FromMilliseconds(100))
        .Build();
    await processor.StartAsync();
    for (var tries = 0; tries < 200 && seen.Count < 40; tries++) await Task.Delay(100);
    await processor.StopAsync();
    Report.Equal(seen.Count, 40);
});

Report.Absent("change-feed-processor-metadata", "the processor has metadata for the feed of all versions only");

// Throughput

await Report.Step("throughput", async () =>
{
    Report.Equal(await orders.ReadThroughputAsync(), 20_000);
    await orders.ReplaceThroughputAsync(21_000);
    Report.Equal(await orders.ReadThroughputAsync(), 21_000);
});

// Scripts

await Report.Step("stored-procedure", async () =>
{
    var body = "function (name) { getContext().getResponse().setBody('hello ' + name) }";
    await carts.Scripts.CreateStoredProcedureAsync(new StoredProcedureProperties("greet", body));
    var arguments = new dynamic[] { "Ann" };
    string answer = await carts.Scripts.ExecuteStoredProcedureAsync<string>("greet", Key("ann"), arguments);
    Report.Equal(answer, "hello Ann");
});

await Report.Step("trigger", async () =>
{
    var body = """
        function () {
          const request = getContext().getRequest(), item = request.getBody()
          item.paid = true
          request.setBody(item)
        }
        """;
    await carts.Scripts.CreateTriggerAsync(new TriggerProperties
    {
        Id = "check",
        Body = body,
        TriggerType = TriggerType.Pre,
        TriggerOperation = TriggerOperation.Create,
    });
    var options = new ItemRequestOptions { PreTriggers = ["check"] };
    Cart created = await carts.CreateItemAsync(new Cart("t", "ann"), Key("ann"), options);
    Report.Equal(created.paid, true);
});

await Report.Step("user-defined-function", async () =>
{
    var body = "function (total) { return total * 1.2 }";
    var function = new UserDefinedFunctionProperties { Id = "withTax", Body = body };
    await orders.Scripts.CreateUserDefinedFunctionAsync(function);
    var query = new QueryDefinition("SELECT VALUE udf.withTax(c.total) FROM c WHERE c.id = 'o10'");
    Report.Equal(await QueryAll<double>(orders, query), [12]);
});

// Users, permissions and resource tokens

await Report.Step("users", async () =>
{
    User user = await database.CreateUserAsync("ann");
    await user.CreatePermissionAsync(new PermissionProperties("read-carts", PermissionMode.Read, carts));
    using var all = user.GetPermissionQueryIterator<PermissionProperties>();
    Report.Equal((await all.ReadNextAsync()).Select(permission => permission.Id).ToArray(), ["read-carts"]);
});

await Report.Step("resource-token", async () =>
{
    PermissionProperties permission = await database.GetUser("ann").GetPermission("read-carts").ReadAsync();
    using var guestClient = new CosmosClient(endpoint, permission.Token, Options());
    var guest = guestClient.GetContainer("shop", "carts");
    await guest.ReadItemAsync<Cart>("cart1", Key("ann"));
    Report.Equal(await Report.Refusal(() => guest.CreateItemAsync(new Cart("no", "ann"), Key("ann"))), 403);
});

// Expiry by the manual clock

await Report.Step("expiry-read", async () =>
{
    await database.CreateContainerAsync(new ContainerProperties("sessions", "/customer") { DefaultTimeToLive = 60 });
    await sessions.CreateItemAsync(new Cart("default", "ann"));
    await sessions.CreateItemAsync(new Cart("longer", "ann", ttl: 90));
    await AdvanceClock("59s");
    await sessions.ReadItemAsync<Cart>("default", Key("ann"));
    await AdvanceClock("1s");
    Report.Equal(await Report.Refusal(() => sessions.ReadItemAsync<Cart>("default", Key("ann"))), 404);
    await sessions.ReadItemAsync<Cart>("longer", Key("ann"));
});

await Report.Step("expiry-query", async () =>
    Report.Equal(await QueryAll<string>(sessions, new QueryDefinition("SELECT VALUE c.id FROM c")), ["longer"]));

await Report.Step("expiry-feed", async () =>
    Report.Equal((await ReadFeed(sessions, ChangeFeedStartFrom.Beginning())).Ids, ["longer"]));

// The connection

Report.Absent("binary-json", "the client sends and reads JSON as text unless told otherwise");
Report.Absent("http2", "the client speaks HTTP/1.1 unless told otherwise");

await Report.Step("https", async () =>
{
    // On Linux SSL_CERT_FILE names the certificate that "mayfly cert" writes.
    using var secure = new CosmosClient(endpoint.Replace("http:", "https:"), key, Options());
    await secure.GetContainer("shop", "carts").ReadItemAsync<Cart>("cart1", Key("ann"));
});

await Report.Step("delete-database", async () =>
{
    await database.DeleteAsync();
    Report.Equal(await Report.Refusal(() => database.ReadAsync()), 404);
});

record Cart(
    string id, string customer, int total = 0, int? ttl = null, string[]? coupons = null, bool? paid = null);
