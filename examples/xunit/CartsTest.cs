// Run with: npx mayfly exec --clock manual -- dotnet test
using System.Net;
using System.Net.Http.Json;
using Microsoft.Azure.Cosmos;
using Xunit;

public class CartsTest : IAsyncLifetime
{
    static readonly string Endpoint = Environment.GetEnvironmentVariable("COSMOS_ENDPOINT")!;
    static readonly HttpClient Http = new();

    readonly CosmosClient client = new(
        Environment.GetEnvironmentVariable("COSMOS_CONNECTION_STRING"),
        new CosmosClientOptions { ConnectionMode = ConnectionMode.Gateway });
    Container carts = null!;

    /// Calls the admin API: Mayfly("clock", new { advance = "1h" }).
    static async Task Mayfly(string call, object body) =>
        (await Http.PostAsJsonAsync($"{Endpoint}/_mayfly/{call}", body)).EnsureSuccessStatusCode();

    public async Task InitializeAsync()
    {
        await Mayfly("reset", new { });
        Database shop = await client.CreateDatabaseAsync("shop");
        carts = await shop.CreateContainerAsync(
            new ContainerProperties("carts", "/customer") { DefaultTimeToLive = 3600 });
    }

    public Task DisposeAsync() { client.Dispose(); return Task.CompletedTask; }

    [Fact]
    public async Task ACartIsGoneAfterAnHour()
    {
        await carts.CreateItemAsync(new { id = "c1", customer = "ann" });
        await Mayfly("clock", new { advance = "1h" });
        var answer = await carts.ReadItemStreamAsync("c1", new PartitionKey("ann"));
        Assert.Equal(HttpStatusCode.NotFound, answer.StatusCode);
    }
}
