import static com.mongodb.client.model.Filters.eq;
import static com.mongodb.client.model.Filters.gte;
import static com.mongodb.client.model.Filters.ne;

import com.mongodb.ClientSessionOptions;
import com.mongodb.ConnectionString;
import com.mongodb.MongoClientSettings;
import com.mongodb.MongoCredential;
import com.mongodb.bulk.BulkWriteResult;
import com.mongodb.client.*;
import com.mongodb.client.gridfs.GridFSBucket;
import com.mongodb.client.gridfs.GridFSBuckets;
import com.mongodb.client.gridfs.model.GridFSUploadOptions;
import com.mongodb.client.model.*;
import com.mongodb.client.model.changestream.ChangeStreamDocument;
import com.mongodb.client.model.changestream.OperationType;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStream;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.*;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import org.bson.Document;

/** What a program does with Mayfly through mongodb-driver-sync, the official driver for Java. */
public final class Story {
    static final String uri = System.getenv("MONGODB_URI");

    public static void main(String[] arguments) {
        try (MongoClient client = MongoClients.create(uri)) {
            new Story(client).tell();
        }
    }

    final MongoClient client;
    final MongoDatabase shop;
    final MongoCollection<Document> carts;
    final MongoCollection<Document> sessions;

    Story(MongoClient client) {
        this.client = client;
        shop = client.getDatabase("shop");
        carts = shop.getCollection("carts");
        sessions = shop.getCollection("sessions");
    }

    static Document cart(String id, String customer, int total) {
        return new Document("_id", id).append("customer", customer).append("total", total);
    }

    static Document find(MongoCollection<Document> collection, String id) {
        return collection.find(eq(id)).first();
    }

    /** Moves the clock of Mayfly, which stands still otherwise. */
    static void advanceClock(String duration) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create(System.getenv("MAYFLY_ENDPOINT") + "/_mayfly/clock"))
                .header("content-type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofString("{\"advance\":\"" + duration + "\"}"))
                .build();
        Report.equal(HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString()).statusCode(), 200);
    }

    void tell() {
        // Documents

        Report.step("connect", () -> Report.equal(client.listDatabaseNames().into(new ArrayList<>()).contains("admin"), true));

        Report.step("insert", () -> {
            carts.insertOne(cart("cart0", "ann", 0));
            List<Document> many =
                    IntStream.range(1, 40).mapToObj(n -> cart("cart" + n, "c" + (n - 1) % 4, n)).toList();
            Report.equal(carts.insertMany(many).getInsertedIds().size(), 39);
        });

        Report.step("find", () -> {
            Report.equal(find(carts, "cart7").getInteger("total"), 7);
            List<Integer> totals = carts.find(gte("total", 37))
                    .sort(Sorts.descending("total"))
                    .projection(Projections.include("total"))
                    .map(found -> found.getInteger("total"))
                    .into(new ArrayList<>());
            Report.equal(totals, List.of(39, 38, 37));
        });

        Report.step("cursor", () -> {
            List<Integer> seen = new ArrayList<>();
            for (Document found : carts.find().sort(Sorts.ascending("total")).batchSize(7)) seen.add(found.getInteger("total"));
            Report.equal(seen, IntStream.range(0, 40).boxed().toList());
        });

        Report.step("collation", () -> {
            Collation english = Collation.builder().locale("en").collationStrength(CollationStrength.SECONDARY).build();
            Document found = carts.find(eq("customer", "ANN")).collation(english).first();
            Report.equal(found.getString("_id"), "cart0");
        });

        Report.step("update", () -> {
            carts.updateOne(eq("cart1"), Updates.combine(Updates.inc("total", 100), Updates.push("items", "book")));
            Report.equal(find(carts, "cart1"), cart("cart1", "c0", 101).append("items", List.of("book")));
            long matched = carts.updateMany(eq("customer", "c1"), Updates.set("items", List.of())).getMatchedCount();
            Report.equal(matched, 10L);
        });

        Report.step("upsert", () -> {
            Document change = new Document("$set", new Document("customer", "bob").append("total", 1));
            var made = carts.updateOne(eq("new"), change, new UpdateOptions().upsert(true));
            Report.equal(made.getUpsertedId().asString().getValue(), "new");
        });

        Report.step("replace", () -> {
            carts.replaceOne(eq("new"), cart("new", "bob", 2));
            Report.equal(find(carts, "new"), cart("new", "bob", 2));
        });

        Report.step("find-and-modify", () -> {
            var options = new FindOneAndUpdateOptions().returnDocument(ReturnDocument.AFTER);
            Report.equal(carts.findOneAndUpdate(eq("new"), Updates.inc("total", 1), options).getInteger("total"), 3);
        });

        Report.step("delete", () -> {
            Report.equal(carts.deleteOne(eq("new")).getDeletedCount(), 1L);
            Report.equal(carts.countDocuments(), 40L);
        });

        Report.step("unique-index", () -> {
            MongoCollection<Document> members = shop.getCollection("members");
            members.createIndex(Indexes.ascending("email"), new IndexOptions().unique(true));
            members.insertOne(new Document("email", "ann@example.com"));
            Report.equal(Report.refusal(() -> members.insertOne(new Document("email", "ann@example.com"))), 11000);
        });

        Report.step("bulk", () -> {
            BulkWriteResult result = carts.bulkWrite(List.of(
                    new InsertOneModel<>(cart("bulk", "bob", 1)),
                    new UpdateOneModel<>(eq("bulk"), Updates.inc("total", 1)),
                    new DeleteOneModel<>(eq("bulk"))));
            Report.equal(
                    List.of(result.getInsertedCount(), result.getModifiedCount(), result.getDeletedCount()),
                    List.of(1, 1, 1));
        });

        // Pipelines

        Report.step("aggregate", () -> {
            Document first = carts.aggregate(List.of(
                            Aggregates.match(ne("customer", "ann")),
                            Aggregates.group("$customer", Accumulators.sum("carts", 1)),
                            Aggregates.sort(Sorts.ascending("_id"))))
                    .first();
            Report.equal(first, new Document("_id", "c0").append("carts", 10));
        });

        Report.step("lookup", () -> {
            shop.getCollection("customers").insertOne(new Document("_id", "ann").append("city", "Paris"));
            Document found = carts.aggregate(List.of(
                            Aggregates.match(eq("customer", "ann")),
                            Aggregates.lookup("customers", "customer", "_id", "who")))
                    .first();
            Report.equal(found.getList("who", Document.class).get(0).getString("city"), "Paris");
        });

        // Expiry by the manual clock

        Report.step("ttl-index", () -> {
            sessions.createIndex(Indexes.ascending("_ts"), new IndexOptions().expireAfter(60L, TimeUnit.SECONDS));
            List<Document> indexes = sessions.listIndexes().into(new ArrayList<>());
            Report.equal(((Number) indexes.get(1).get("expireAfterSeconds")).intValue(), 60);
        });

        Report.step("expiry-find", () -> {
            sessions.insertMany(List.of(new Document("_id", "default"), new Document("_id", "longer").append("ttl", 90)));
            advanceClock("59s");
            Report.equal(find(sessions, "default"), new Document("_id", "default"));
            advanceClock("1s");
            Report.equal(find(sessions, "default"), null);
            Report.equal(find(sessions, "longer").getInteger("ttl"), 90);
        });

        Report.step("expiry-count", () -> {
            Report.equal(sessions.countDocuments(), 1L);
            List<Document> groups = sessions.aggregate(List.of(Aggregates.group("$_id"))).into(new ArrayList<>());
            Report.equal(groups, List.of(new Document("_id", "longer")));
        });

        // Sessions and transactions

        Report.step("session", () -> {
            var causal = ClientSessionOptions.builder().causallyConsistent(true).build();
            try (ClientSession session = client.startSession(causal)) {
                carts.insertOne(session, cart("causal", "ann", 1));
                Report.equal(carts.find(session, eq("causal")).first().getInteger("total"), 1);
            }
        });

        Report.step("transaction", () -> {
            try (ClientSession session = client.startSession()) {
                session.withTransaction(() -> {
                    carts.insertOne(session, cart("paid", "bob", 5));
                    return carts.deleteOne(session, eq("causal"));
                });
            }
            Report.equal(find(carts, "paid").getInteger("total"), 5);
            Report.equal(find(carts, "causal"), null);
        });

        Report.step("transaction-abort", () -> {
            try (ClientSession session = client.startSession()) {
                session.startTransaction();
                carts.deleteOne(session, eq("paid"));
                session.abortTransaction();
            }
            Report.equal(find(carts, "paid").getInteger("total"), 5);
        });

        // Change streams

        Report.step("change-stream", () -> {
            ChangeStreamDocument<Document> event;
            try (var stream = carts.watch().cursor()) {
                carts.insertOne(cart("watched", "bob", 1));
                event = stream.next();
            }
            Report.equal(event.getOperationType(), OperationType.INSERT);
            Report.equal(event.getDocumentKey().getString("_id").getValue(), "watched");
            carts.updateOne(eq("watched"), Updates.set("total", 2));
            try (var resumed = carts.watch().resumeAfter(event.getResumeToken()).cursor()) {
                Report.equal(resumed.next().getOperationType(), OperationType.UPDATE);
            }
        });

        Report.step("change-stream-expiry", () -> {
            try (var stream = sessions.watch().cursor()) {
                advanceClock("30s");
                // An event comes when the document is purged: that of an earlier death may come first.
                var event = stream.next();
                while (!event.getDocumentKey().getString("_id").getValue().equals("longer")) event = stream.next();
                Report.equal(event.getOperationType(), OperationType.DELETE);
            }
        });

        // Users, files, TLS

        Report.step("users", () -> {
            shop.runCommand(new Document("createUser", "reader").append("pwd", "secret").append("roles", List.of("read")));
            MongoClientSettings settings = settings()
                    .credential(MongoCredential.createCredential("reader", "shop", "secret".toCharArray()))
                    .build();
            try (MongoClient reader = MongoClients.create(settings)) {
                MongoCollection<Document> seen = reader.getDatabase("shop").getCollection("carts");
                Report.equal(find(seen, "paid").getInteger("total"), 5);
                Report.equal(Report.refusal(() -> seen.deleteOne(eq("paid"))), 13);
            }
        });

        Report.step("gridfs", () -> {
            GridFSBucket bucket = GridFSBuckets.create(shop);
            var options = new GridFSUploadOptions().chunkSizeBytes(1000);
            bucket.uploadFromStream("letter.txt", new ByteArrayInputStream("x".repeat(2500).getBytes()), options);
            var read = new ByteArrayOutputStream();
            bucket.downloadToStream("letter.txt", read);
            Report.equal(read.size(), 2500);
        });

        Report.step("tls", () -> {
            SSLContext trusting = trusting(Path.of(System.getenv("MAYFLY_CERTIFICATE")));
            MongoClientSettings settings = settings()
                    .applyToSslSettings(ssl -> ssl.enabled(true).context(trusting))
                    .build();
            try (MongoClient secure = MongoClients.create(settings)) {
                Report.equal(find(secure.getDatabase("shop").getCollection("carts"), "paid").getInteger("total"), 5);
            }
        });

        Report.step("drop", () -> {
            shop.drop();
            Report.equal(carts.countDocuments(), 0L);
        });
    }

    static MongoClientSettings.Builder settings() {
        return MongoClientSettings.builder().applyConnectionString(new ConnectionString(uri));
    }

    static SSLContext trusting(Path certificate) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (InputStream file = Files.newInputStream(certificate)) {
            store.setCertificateEntry("mayfly", CertificateFactory.getInstance("X.509").generateCertificate(file));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(store);
        SSLContext context = SSLContext.getInstance("TLS");
        context.init(null, trust.getTrustManagers(), null);
        return context;
    }
}
