using System.Text.Json;
using MongoDB.Driver;

/// <summary>
/// Runs one step of the story and prints its outcome as a JSON line. A step that fails does not end the story.
/// </summary>
static class Report
{
    public static async Task Step(string name, Func<Task> run)
    {
        try
        {
            await run();
            Print(new { step = name, ok = true });
        }
        catch (Exception error)
        {
            Print(new { step = name, ok = false, why = $"{error.GetType().Name}: {error.Message}" });
        }
    }

    public static void Equal<T>(T actual, T expected)
    {
        if (JsonSerializer.Serialize(actual) == JsonSerializer.Serialize(expected)) return;
        throw new Exception($"{JsonSerializer.Serialize(actual)} instead of {JsonSerializer.Serialize(expected)}");
    }

    /// <summary>The code that the server refuses a call with.</summary>
    public static async Task<int> Refusal(Func<Task> call)
    {
        try
        {
            await call();
            return 0;
        }
        catch (MongoWriteException error)
        {
            return error.WriteError.Code;
        }
        catch (MongoCommandException error)
        {
            return error.Code;
        }
    }

    static void Print(object outcome) => Console.WriteLine(JsonSerializer.Serialize(outcome));
}
