import com.azure.cosmos.*;
import com.azure.cosmos.models.*;
import com.azure.cosmos.util.CosmosPagedIterable;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.stream.IntStream;

/**
 * What a program does with Mayfly through azure-cosmos, the official client for Java.
 *
 * <p>Plain http needs -DCOSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED=true, or the line at the top of main.
 */
public final class Story {
    static final String endpoint = System.getenv("COSMOS_ENDPOINT");
    static final ObjectMapper json = new ObjectMapper();

    public static void main(String[] arguments) {
        System.setProperty("COSMOS.HTTP_CONNECTION_WITHOUT_TLS_ALLOWED", "true");
        CosmosClientBuilder builder = new CosmosClientBuilder()
                .endpoint(endpoint)
                .key(System.getenv("COSMOS_KEY"))
                .gatewayMode()
                .contentResponseOnWriteEnabled(true);
        try (CosmosClient client = builder.buildClient(); CosmosAsyncClient asyncClient = builder.buildAsyncClient()) {
            new Story(client, asyncClient).tell();
        }
        System.exit(0);
    }

    final CosmosClient client;
    final CosmosDatabase database;
    final CosmosAsyncDatabase asyncDatabase;
    final CosmosContainer carts;
    final CosmosContainer orders;
    final CosmosContainer sessions;

    Story(CosmosClient client, CosmosAsyncClient asyncClient) {
        this.client = client;
        database = client.getDatabase("shop");
        asyncDatabase = asyncClient.getDatabase("shop");
        carts = database.getContainer("carts");
        orders = database.getContainer("orders");
        sessions = database.getContainer("sessions");
    }

    static PartitionKey key(String value) {
        return new PartitionKey(value);
    }

    static ObjectNode cart(String id, String customer, int total) {
        return json.createObjectNode().put("id", id).put("customer", customer).put("total", total);
    }

    static ObjectNode read(CosmosContainer container, String id, String partition) {
        return container.readItem(id, key(partition), ObjectNode.class).getItem();
    }

    static <T> List<T> query(CosmosContainer container, String text, Class<T> type) {
        return container.queryItems(text, new CosmosQueryRequestOptions(), type).stream().toList();
    }

    /** Moves the clock of Mayfly, which stands still otherwise. */
    static void advanceClock(String duration) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(endpoint + "/_mayfly/clock"))
                .header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"advance\":\"" + duration + "\"}"))
                .build();
        HttpResponse<String> answer = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        Report.equal(answer.statusCode(), 200);
    }

    void tell() {
        databasesAndContainers();
        items();
        queries();
        changeFeed();
        throughput();
        scripts();
        tokens();
        expiry();
        connection();
        Report.step("delete-database", () -> {
            database.delete();
            Report.equal(Report.refusal(database::read), 404);
        });
    }

    void connection() {
        Report.absent("binary-json", "the client sends and reads JSON as text unless told otherwise");
        Report.absent("http2", "the client speaks HTTP/1.1 unless told otherwise");

        Report.step("https", () -> {
            trust(System.getenv("COSMOS_CERTIFICATE"));
            CosmosClientBuilder builder = new CosmosClientBuilder()
                    .endpoint(endpoint.replace("http:", "https:"))
                    .key(System.getenv("COSMOS_KEY"))
                    .gatewayMode();
            try (CosmosClient secure = builder.buildClient()) {
                ObjectNode cart = read(secure.getDatabase("shop").getContainer("carts"), "cart1", "ann");
                Report.equal(cart.get("id").asText(), "cart1");
            }
        });
    }

    /** Makes a trust store with the certificate that "mayfly cert" writes; keytool can make it, too. */
    static void trust(String certificate) throws Exception {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        try (InputStream file = Files.newInputStream(Path.of(certificate))) {
            store.setCertificateEntry("mayfly", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        Path path = Files.createTempFile("mayfly", ".p12");
        path.toFile().deleteOnExit();
        try (OutputStream file = Files.newOutputStream(path)) {
            store.store(file, "changeit".toCharArray());
        }
        System.setProperty("javax.net.ssl.trustStore", path.toString());
        System.setProperty("javax.net.ssl.trustStorePassword", "changeit");
    }

    void databasesAndContainers() {
        Report.step("database", () -> {
            client.createDatabase("shop");
            List<String> ids = client.readAllDatabases().stream().map(CosmosDatabaseProperties::getId).toList();
            Report.equal(ids, List.of("shop"));
        });

        Report.step("container-ttl", () -> {
            CosmosContainerProperties properties = new CosmosContainerProperties("carts", "/customer");
            database.createContainer(properties.setDefaultTimeToLiveInSeconds(3600));
            Report.equal(carts.read().getProperties().getDefaultTimeToLiveInSeconds(), 3600);
        });

        Report.step("partitions", () -> {
            database.createContainer("orders", "/customer", ThroughputProperties.createManualThroughput(20_000));
            Report.equal(orders.getFeedRanges().size() >= 2, true);
            for (int n = 0; n < 40; n++) orders.createItem(cart("o" + n, "c" + n % 8, n));
        });
    }

    void items() {
        CosmosItemRequestOptions none = new CosmosItemRequestOptions();

        Report.step("create", () -> {
            ObjectNode created = carts.createItem(cart("cart1", "ann", 10)).getItem();
            Report.equal(created.get("total").asInt(), 10);
        });

        Report.step("read", () -> Report.equal(read(carts, "cart1", "ann").get("total").asInt(), 10));

        Report.step("replace", () -> {
            ObjectNode replaced = carts.replaceItem(cart("cart1", "ann", 20), "cart1", key("ann"), none).getItem();
            Report.equal(replaced.get("total").asInt(), 20);
        });

        Report.step("upsert", () -> {
            Report.equal(carts.upsertItem(cart("cart1", "ann", 30)).getStatusCode(), 200);
            Report.equal(carts.upsertItem(cart("cart2", "ann", 5)).getStatusCode(), 201);
        });

        Report.step("delete", () -> {
            carts.deleteItem("cart2", key("ann"), none);
            Report.equal(Report.refusal(() -> read(carts, "cart2", "ann")), 404);
        });

        Report.step("by-object", () -> {
            ObjectNode created = carts.createItem(cart("object", "ann", 1)).getItem();
            carts.deleteItem(created, none);
            Report.equal(Report.refusal(() -> read(carts, "object", "ann")), 404);
        });

        Report.step("read-many", () -> {
            List<CosmosItemIdentity> wanted = List.of(
                    new CosmosItemIdentity(key("c1"), "o1"),
                    new CosmosItemIdentity(key("c2"), "o2"),
                    new CosmosItemIdentity(key("c1"), "o9"),
                    new CosmosItemIdentity(key("c1"), "none"));
            List<ObjectNode> found = orders.readMany(wanted, ObjectNode.class).getResults();
            List<String> ids = found.stream().map(order -> order.get("id").asText()).sorted().toList();
            Report.equal(ids, List.of("o1", "o2", "o9"));
        });

        Report.step("item-ttl", () -> {
            carts.createItem(cart("short", "ann", 0).put("ttl", 30));
            Report.equal(read(carts, "short", "ann").get("ttl").asInt(), 30);
        });

        Report.step("etag", () -> {
            String etag = carts.createItem(cart("tagged", "ann", 0)).getETag();
            CosmosItemRequestOptions ifMatch = new CosmosItemRequestOptions().setIfMatchETag(etag);
            carts.replaceItem(cart("tagged", "ann", 1), "tagged", key("ann"), ifMatch);
            Report.Step again = () -> carts.replaceItem(cart("tagged", "ann", 2), "tagged", key("ann"), ifMatch);
            Report.equal(Report.refusal(again), 412);
        });

        Report.step("unique-key", () -> {
            UniqueKeyPolicy policy = new UniqueKeyPolicy().setUniqueKeys(List.of(new UniqueKey(List.of("/email"))));
            database.createContainer(new CosmosContainerProperties("members", "/club").setUniqueKeyPolicy(policy));
            CosmosContainer members = database.getContainer("members");
            ObjectNode member = json.createObjectNode().put("club", "chess").put("email", "ann@example.com");
            members.createItem(member.deepCopy().put("id", "1"));
            Report.equal(Report.refusal(() -> members.createItem(member.deepCopy().put("id", "2"))), 409);
        });

        Report.step("patch", () -> {
            ObjectNode cart = cart("patched", "ann", 1);
            cart.putArray("coupons").add("a");
            carts.createItem(cart);
            CosmosPatchOperations operations = CosmosPatchOperations.create()
                    .increment("/total", 2)
                    .add("/coupons/-", "b")
                    .set("/paid", true);
            ObjectNode patched = carts.patchItem("patched", key("ann"), operations, ObjectNode.class).getItem();
            Report.equal(patched.get("total").asInt(), 3);
            Report.equal(patched.get("coupons").toString(), "[\"a\",\"b\"]");
            Report.equal(patched.get("paid").asBoolean(), true);
        });

        Report.step("batch", () -> {
            CosmosBatch done = CosmosBatch.createCosmosBatch(key("bob"));
            done.createItemOperation(cart("batch1", "bob", 0));
            done.upsertItemOperation(cart("batch2", "bob", 0));
            Report.equal(statuses(carts.executeCosmosBatch(done)), List.of(201, 201));
            CosmosBatch undone = CosmosBatch.createCosmosBatch(key("bob"));
            undone.deleteItemOperation("batch1");
            undone.createItemOperation(cart("batch2", "bob", 0));
            Report.equal(statuses(carts.executeCosmosBatch(undone)), List.of(424, 409));
            Report.equal(read(carts, "batch1", "bob").get("id").asText(), "batch1");
        });

        Report.step("bulk", () -> {
            List<CosmosItemOperation> operations = new ArrayList<>();
            for (int n = 0; n < 100; n++) {
                String customer = "bulk" + n % 7;
                ObjectNode cart = cart("bulk" + n, customer, n);
                operations.add(CosmosBulkOperations.getCreateItemOperation(cart, key(customer)));
            }
            int created = 0;
            for (CosmosBulkOperationResponse<Object> answer : carts.executeBulkOperations(operations)) {
                if (answer.getException() != null) throw answer.getException();
                if (answer.getResponse().getStatusCode() == 201) created++;
            }
            Report.equal(created, 100);
        });
    }

    static List<Integer> statuses(CosmosBatchResponse answer) {
        return answer.getResults().stream().map(CosmosBatchOperationResult::getStatusCode).toList();
    }

    void queries() {
        Report.step("query-partition", () -> {
            String text = "SELECT VALUE c.total FROM c WHERE c.total > 20 ORDER BY c.total DESC";
            CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setPartitionKey(key("c1"));
            Report.equal(orders.queryItems(text, options, Integer.class).stream().toList(), List.of(33, 25));
        });

        Report.step("query-parameters", () -> {
            SqlQuerySpec query = new SqlQuerySpec(
                    "SELECT VALUE c.id FROM c WHERE c.customer = @customer AND c.total < @limit",
                    new SqlParameter("@customer", "c2"),
                    new SqlParameter("@limit", 10));
            CosmosPagedIterable<String> found = orders.queryItems(query, new CosmosQueryRequestOptions(), String.class);
            Report.equal(found.stream().toList(), List.of("o2"));
        });

        Report.step("query-across", () ->
                Report.equal(query(orders, "SELECT * FROM c WHERE c.total >= 30", ObjectNode.class).size(), 10));

        Report.step("order-by", () -> {
            String text = "SELECT VALUE c.total FROM c WHERE c.total >= 35 ORDER BY c.total DESC";
            Report.equal(query(orders, text, Integer.class), List.of(39, 38, 37, 36, 35));
        });

        Report.step("aggregates", () ->
                Report.equal(query(orders, "SELECT VALUE SUM(c.total) FROM c", Double.class), List.of(780.0)));

        Report.step("group-by", () -> {
            String text = "SELECT c.customer, COUNT(1) AS orders FROM c GROUP BY c.customer";
            List<ObjectNode> groups = query(orders, text, ObjectNode.class);
            Report.equal(groups.stream().map(group -> group.get("orders").asInt()).toList(), Collections.nCopies(8, 5));
        });

        Report.step("paging", () -> {
            for (int size : pageSizes) {
                List<Integer> totals = readPages("SELECT * FROM c", size, new CosmosQueryRequestOptions());
                Report.equal(totals.stream().sorted().toList(), IntStream.range(0, 40).boxed().toList());
            }
        });

        Report.step("paging-order-by", () -> {
            for (int size : pageSizes) {
                CosmosQueryRequestOptions options = new CosmosQueryRequestOptions().setPartitionKey(key("c1"));
                List<Integer> totals = readPages("SELECT * FROM c ORDER BY c.total", size, options);
                Report.equal(totals, List.of(1, 9, 17, 25, 33));
            }
        });

        Report.step("paging-order-by-across", () -> {
            for (int size : pageSizes) {
                CosmosQueryRequestOptions options = new CosmosQueryRequestOptions();
                List<Integer> totals = readPages("SELECT * FROM c ORDER BY c.total", size, options);
                Report.equal(totals, IntStream.range(0, 40).boxed().toList());
            }
        });
    }

    static final int[] pageSizes = {3, 10};

    /** Reads a query page by page. Each page has an iterator of its own: the token is all that is kept. */
    List<Integer> readPages(String text, int size, CosmosQueryRequestOptions options) {
        List<Integer> totals = new ArrayList<>();
        String token = null;
        for (int page = 0; page < 40; page++) {
            CosmosPagedIterable<ObjectNode> rows = orders.queryItems(text, options, ObjectNode.class);
            FeedResponse<ObjectNode> answer = rows.iterableByPage(token, size).iterator().next();
            answer.getResults().forEach(order -> totals.add(order.get("total").asInt()));
            token = answer.getContinuationToken();
            if (token == null) return totals;
        }
        throw new AssertionError("the pages do not end");
    }

    void changeFeed() {
        CosmosContainer events = database.getContainer("events");

        Report.step("change-feed", () -> {
            database.createContainer("events", "/customer");
            events.createItem(cart("1", "ann", 0));
            events.createItem(cart("2", "bob", 0));
            events.upsertItem(cart("1", "ann", 1));
            List<String> ids = new ArrayList<>();
            String continuation = readFeed(events, fromBeginning(), ids);
            Report.equal(ids, List.of("2", "1"));
            events.createItem(cart("3", "ann", 0));
            List<String> more = new ArrayList<>();
            readFeed(events, CosmosChangeFeedRequestOptions.createForProcessingFromContinuation(continuation), more);
            Report.equal(more, List.of("3"));
        });

        Report.step("change-feed-across", () -> {
            List<String> ids = new ArrayList<>();
            readFeed(orders, fromBeginning(), ids);
            Report.equal(ids.size(), 40);
            Report.equal(new HashSet<>(ids).size(), 40);
        });

        Report.step("change-feed-processor", () -> {
            BlockingQueue<String> ids = new LinkedBlockingQueue<>();
            process("leases", ids, builder -> builder.handleChanges(changes -> {
                for (JsonNode change : changes) ids.add(change.get("id").asText());
            }));
        });

        Report.step("change-feed-processor-metadata", () -> {
            BlockingQueue<String> ids = new LinkedBlockingQueue<>();
            process("other-leases", ids, builder -> builder.handleLatestVersionChanges(changes -> {
                for (ChangeFeedProcessorItem change : changes) {
                    JsonNode item = change.getCurrent();
                    ids.add(item == null ? "" : item.get("id").asText());
                }
            }));
        });
    }

    /** Runs a processor over the orders until it has seen all forty. */
    void process(String leases, BlockingQueue<String> ids, Consumer<ChangeFeedProcessorBuilder> handler)
            throws Exception {
        database.createContainer(leases, "/id");
        ChangeFeedProcessorOptions options = new ChangeFeedProcessorOptions()
                .setStartFromBeginning(true)
                .setFeedPollDelay(Duration.ofMillis(100));
        ChangeFeedProcessorBuilder builder = new ChangeFeedProcessorBuilder()
                .hostName("story")
                .feedContainer(asyncDatabase.getContainer("orders"))
                .leaseContainer(asyncDatabase.getContainer(leases))
                .options(options);
        handler.accept(builder);
        ChangeFeedProcessor processor = builder.buildChangeFeedProcessor();
        processor.start().block();
        try {
            Set<String> seen = new TreeSet<>();
            while (seen.size() < 40) {
                String id = ids.poll(20, TimeUnit.SECONDS);
                if (id == null) throw new AssertionError("the processor saw " + seen.size() + " of 40 changes");
                if (id.isEmpty()) throw new AssertionError("the processor saw a change without its item");
                seen.add(id);
            }
        } finally {
            processor.stop().block();
        }
    }

    static CosmosChangeFeedRequestOptions fromBeginning() {
        return CosmosChangeFeedRequestOptions.createForProcessingFromBeginning(FeedRange.forFullRange());
    }

    /** Reads the feed until it has nothing new; the answer is where it goes on. */
    static String readFeed(CosmosContainer container, CosmosChangeFeedRequestOptions options, List<String> ids) {
        String continuation = null;
        for (FeedResponse<ObjectNode> page : container.queryChangeFeed(options, ObjectNode.class).iterableByPage()) {
            page.getResults().forEach(change -> ids.add(change.get("id").asText()));
            continuation = page.getContinuationToken();
        }
        return continuation;
    }

    void throughput() {
        Report.step("throughput", () -> {
            Report.equal(orders.readThroughput().getProperties().getManualThroughput(), 20_000);
            orders.replaceThroughput(ThroughputProperties.createManualThroughput(21_000));
            Report.equal(orders.readThroughput().getProperties().getManualThroughput(), 21_000);
        });
    }

    void scripts() {
        Report.step("stored-procedure", () -> {
            String body = "function (name) { getContext().getResponse().setBody('hello ' + name) }";
            carts.getScripts().createStoredProcedure(new CosmosStoredProcedureProperties("greet", body));
            CosmosStoredProcedureRequestOptions options = new CosmosStoredProcedureRequestOptions();
            options.setPartitionKey(key("ann"));
            CosmosStoredProcedure procedure = carts.getScripts().getStoredProcedure("greet");
            Report.equal(procedure.execute(List.of("Ann"), options).getResponseAsString(), "\"hello Ann\"");
        });

        Report.step("trigger", () -> {
            String body = """
                    function () {
                      const request = getContext().getRequest(), item = request.getBody()
                      item.checked = true
                      request.setBody(item)
                    }""";
            CosmosTriggerProperties trigger = new CosmosTriggerProperties("check", body)
                    .setTriggerType(TriggerType.PRE)
                    .setTriggerOperation(TriggerOperation.CREATE);
            carts.getScripts().createTrigger(trigger);
            CosmosItemRequestOptions options = new CosmosItemRequestOptions().setPreTriggerInclude(List.of("check"));
            ObjectNode created = carts.createItem(cart("t", "ann", 0), key("ann"), options).getItem();
            Report.equal(created.get("checked").asBoolean(), true);
        });

        Report.step("user-defined-function", () -> {
            String body = "function (total) { return total * 1.2 }";
            orders.getScripts().createUserDefinedFunction(new CosmosUserDefinedFunctionProperties("withTax", body));
            String text = "SELECT VALUE udf.withTax(c.total) FROM c WHERE c.id = 'o10'";
            Report.equal(query(orders, text, Integer.class), List.of(12));
        });
    }

    void tokens() {
        Report.step("users", () -> {
            database.createUser(new CosmosUserProperties().setId("ann"));
            CosmosPermissionProperties permission = new CosmosPermissionProperties()
                    .setId("read-carts")
                    .setPermissionMode(PermissionMode.READ)
                    .setContainerName("carts");
            // Permissions are there in the asynchronous client only.
            asyncDatabase.getUser("ann").createPermission(permission, null).block();
            List<CosmosPermissionProperties> all =
                    asyncDatabase.getUser("ann").readAllPermissions().collectList().block();
            Report.equal(all.stream().map(CosmosPermissionProperties::getId).toList(), List.of("read-carts"));
        });

        Report.step("resource-token", () -> {
            CosmosPermissionProperties permission =
                    asyncDatabase.getUser("ann").getPermission("read-carts").read(null).block().getProperties();
            CosmosClientBuilder builder =
                    new CosmosClientBuilder().endpoint(endpoint).resourceToken(permission.getToken()).gatewayMode();
            try (CosmosClient guestClient = builder.buildClient()) {
                CosmosContainer guest = guestClient.getDatabase("shop").getContainer("carts");
                Report.equal(read(guest, "cart1", "ann").get("id").asText(), "cart1");
                Report.equal(Report.refusal(() -> guest.createItem(cart("no", "ann", 0))), 403);
            }
        });
    }

    void expiry() {
        Report.step("expiry-read", () -> {
            CosmosContainerProperties properties = new CosmosContainerProperties("sessions", "/user");
            database.createContainer(properties.setDefaultTimeToLiveInSeconds(60));
            sessions.createItem(json.createObjectNode().put("id", "default").put("user", "ann"));
            sessions.createItem(json.createObjectNode().put("id", "longer").put("user", "ann").put("ttl", 90));
            advanceClock("59s");
            Report.equal(read(sessions, "default", "ann").get("id").asText(), "default");
            advanceClock("1s");
            Report.equal(Report.refusal(() -> read(sessions, "default", "ann")), 404);
            Report.equal(read(sessions, "longer", "ann").get("id").asText(), "longer");
        });

        Report.step("expiry-query", () ->
                Report.equal(query(sessions, "SELECT VALUE c.id FROM c", String.class), List.of("longer")));

        Report.step("expiry-feed", () -> {
            List<String> ids = new ArrayList<>();
            readFeed(sessions, fromBeginning(), ids);
            Report.equal(ids, List.of("longer"));
        });
    }
}
