// Run with: npx mayfly exec --clock manual -- mvn test
import static com.mongodb.client.model.Filters.eq;
import static org.junit.jupiter.api.Assertions.assertNull;

import com.mongodb.client.MongoClients;
import com.mongodb.client.model.IndexOptions;
import com.mongodb.client.model.Indexes;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.util.concurrent.TimeUnit;
import org.bson.Document;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class CartsTest {
    /** Calls the admin API: mayfly("clock", "{\"advance\":\"1h\"}"). */
    static void mayfly(String call, String body) throws Exception {
        var uri = URI.create(System.getenv("COSMOS_ENDPOINT") + "/_mayfly/" + call);
        var request = HttpRequest.newBuilder(uri).POST(HttpRequest.BodyPublishers.ofString(body)).build();
        HttpClient.newHttpClient().send(request, BodyHandlers.discarding());
    }

    @BeforeEach
    void reset() throws Exception {
        mayfly("reset", "{}");
    }

    @Test
    void aCartIsGoneAfterAnHour() throws Exception {
        try (var client = MongoClients.create(System.getenv("MONGODB_URI"))) {
            var carts = client.getDatabase("shop").getCollection("carts");
            carts.createIndex(Indexes.ascending("_ts"), new IndexOptions().expireAfter(1L, TimeUnit.HOURS));
            carts.insertOne(new Document("_id", "c1").append("customer", "ann"));
            mayfly("clock", "{\"advance\":\"1h\"}");
            assertNull(carts.find(eq("_id", "c1")).first());
        }
    }
}
