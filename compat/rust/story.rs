//! What a program does with Mayfly through azure_data_cosmos, the official client for Rust.

mod report;

use azure_data_cosmos::clients::{ContainerClient, CosmosClient};
use azure_data_cosmos::feed::ContinuationToken;
use azure_data_cosmos::models::{
    ContainerProperties, PatchInstructions, PatchOperation, ThroughputProperties, UniqueKey, UniqueKeyPolicy,
};
use azure_data_cosmos::options::{
    BatchOptions, ChangeFeedOptions, ChangeFeedStartFrom, CreateContainerOptions, ItemWriteOptions,
    MaxItemCountHint, Precondition, QueryOptions,
};
use azure_data_cosmos::{AccountReference, FeedScope, Query, RoutingStrategy, TransactionalBatch};
use futures::TryStreamExt;
use report::{absent, equal, refusal, step, Outcome};
use serde::de::DeserializeOwned;
use serde_json::{json, Value};
use std::{env, error::Error, num::NonZeroU32};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Moves the clock of Mayfly, which stands still otherwise.
async fn advance_clock(duration: &str) -> Outcome {
    let url = format!("{}/_mayfly/clock", env::var("COSMOS_ENDPOINT")?);
    let request = reqwest::Client::new().post(url).header("content-type", "application/json");
    let answer = request.body(json!({"advance": duration}).to_string()).send().await?;
    equal(answer.status().as_u16(), 200)
}

async fn read(container: &ContainerClient, id: &str, partition: &str) -> Result<Value> {
    Ok(container.read_item(partition.to_string(), id, None).await?.into_model()?)
}

async fn query_all<T: DeserializeOwned + Send + 'static>(
    container: &ContainerClient,
    query: impl Into<Query>,
    scope: FeedScope,
) -> Result<Vec<T>> {
    Ok(container.query_items::<T>(query, scope, None).await?.try_collect().await?)
}

const PAGE_SIZES: [u32; 2] = [3, 10];

/// Reads a query page by page. Each page has an iterator of its own: the token is all that is kept.
async fn read_pages(
    container: &ContainerClient,
    query: &str,
    size: u32,
    scope: FeedScope,
) -> Result<Vec<u64>> {
    let mut totals = vec![];
    let mut token: Option<ContinuationToken> = None;
    for _ in 0..40 {
        let size = MaxItemCountHint::Limit(NonZeroU32::new(size).ok_or("an empty page")?);
        let mut options = QueryOptions::default().with_max_item_count(size);
        if let Some(token) = token {
            options = options.with_continuation_token(token);
        }
        let rows = container.query_items::<Value>(query, scope.clone(), Some(options)).await?;
        let mut pages = rows.into_pages();
        let Some(page) = pages.try_next().await? else {
            return Ok(totals);
        };
        totals.extend(page.items().iter().filter_map(|order| order["total"].as_u64()));
        token = Some(pages.to_continuation_token()?);
    }
    Err("the pages do not end".into())
}

/// Reads the change feed until no range of the container has anything new.
async fn read_feed(
    container: &ContainerClient,
    token: Option<ContinuationToken>,
) -> Result<(Vec<String>, ContinuationToken)> {
    let mut options = ChangeFeedOptions::default();
    if let Some(token) = token {
        options = options.with_continuation_token(token);
    }
    let ranges = container.read_feed_ranges(None).await?.len();
    let scope = FeedScope::full_container();
    let start = ChangeFeedStartFrom::Beginning;
    let mut pages = container.query_change_feed::<Value>(scope, start, Some(options)).await?;
    let mut ids = vec![];
    let mut empty = 0;
    while empty < ranges {
        let Some(page) = pages.try_next().await? else {
            break;
        };
        empty = if page.items().is_empty() { empty + 1 } else { 0 };
        for change in page.items() {
            let item = change.current().ok_or("a change without its item")?;
            ids.push(item["id"].as_str().unwrap_or_default().to_string());
        }
    }
    Ok((ids, pages.to_continuation_token()?))
}

/// With the client's defaults: HTTP/2 and binary JSON are on.
async fn connect(endpoint: &str) -> Result<CosmosClient> {
    let account = AccountReference::with_authentication_key(endpoint.parse()?, env::var("COSMOS_KEY")?);
    Ok(CosmosClient::builder().build(account, RoutingStrategy::ProximityTo("East US".into())).await?)
}

#[tokio::main]
async fn main() -> Result<()> {
    let endpoint = &env::var("COSMOS_ENDPOINT")?;
    let client = connect(endpoint).await?;
    let database = client.database_client("shop");

    // Databases and containers

    step("database", async {
        client.create_database("shop", None).await?;
        let all: Vec<_> = client.query_databases("SELECT * FROM c", None).await?.try_collect().await?;
        equal(all.len(), 1)
    })
    .await;

    step("container-ttl", async {
        let properties = ContainerProperties::new("carts", "/customer".into());
        database.create_container(properties.with_default_ttl(3600), None).await?;
        let made = database.container_client("carts", None).await?.read(None).await?.into_model()?;
        equal(made.default_ttl, 3600.into())
    })
    .await;

    let carts = &database.container_client("carts", None).await?;

    step("partitions", async {
        let options = CreateContainerOptions::default().with_throughput(ThroughputProperties::manual(20_000));
        let properties = ContainerProperties::new("orders", "/customer".into());
        database.create_container(properties, Some(options)).await?;
        let orders = database.container_client("orders", None).await?;
        equal(orders.read_feed_ranges(None).await?.len() >= 2, true)?;
        for n in 0..40 {
            let (id, customer) = (format!("o{n}"), format!("c{}", n % 8));
            let order = json!({"id": id, "customer": customer, "total": n});
            orders.create_item(customer, &id, order, None).await?;
        }
        Ok(())
    })
    .await;

    let orders = &database.container_client("orders", None).await?;

    // Items

    step("create", async {
        carts
            .create_item("ann", "cart1", json!({"id": "cart1", "customer": "ann", "total": 10}), None)
            .await?;
        Ok(())
    })
    .await;

    step("read", async { equal(read(carts, "cart1", "ann").await?["total"].clone(), json!(10)) }).await;

    step("replace", async {
        let cart = json!({"id": "cart1", "customer": "ann", "total": 20});
        carts.replace_item("ann", "cart1", cart, None).await?;
        equal(read(carts, "cart1", "ann").await?["total"].clone(), json!(20))
    })
    .await;

    step("upsert", async {
        let cart = json!({"id": "cart1", "customer": "ann", "total": 30});
        let changed = carts.upsert_item("ann", "cart1", cart, None).await?;
        equal(u16::from(changed.status().status_code()), 200)?;
        let cart = json!({"id": "cart2", "customer": "ann", "total": 5});
        let created = carts.upsert_item("ann", "cart2", cart, None).await?;
        equal(u16::from(created.status().status_code()), 201)
    })
    .await;

    step("delete", async {
        carts.delete_item("ann", "cart2", None).await?;
        equal(refusal(carts.read_item("ann", "cart2", None).await), 404)
    })
    .await;

    absent("by-object", "items are always named by id and partition key");
    absent("read-many", "the client has no call for it; query by id instead");

    step("item-ttl", async {
        carts.create_item("ann", "short", json!({"id": "short", "customer": "ann", "ttl": 30}), None).await?;
        equal(read(carts, "short", "ann").await?["ttl"].clone(), json!(30))
    })
    .await;

    step("etag", async {
        let cart = json!({"id": "tagged", "customer": "ann"});
        let created = carts.create_item("ann", "tagged", &cart, None).await?;
        let etag = created.headers().etag().ok_or("no etag")?.clone();
        let options =
            || Some(ItemWriteOptions::default().with_precondition(Precondition::if_match(etag.clone())));
        carts.replace_item("ann", "tagged", &cart, options()).await?;
        equal(refusal(carts.replace_item("ann", "tagged", &cart, options()).await), 412)
    })
    .await;

    step("unique-key", async {
        let policy = UniqueKeyPolicy::default().with_unique_key(UniqueKey::default().with_path("/email"));
        let properties = ContainerProperties::new("members", "/club".into()).with_unique_key_policy(policy);
        database.create_container(properties, None).await?;
        let members = database.container_client("members", None).await?;
        let first = json!({"id": "1", "club": "chess", "email": "ann@example.com"});
        let second = json!({"id": "2", "club": "chess", "email": "ann@example.com"});
        members.create_item("chess", "1", first, None).await?;
        equal(refusal(members.create_item("chess", "2", second, None).await), 409)
    })
    .await;

    step("patch", async {
        let cart = json!({"id": "patched", "customer": "ann", "total": 1, "coupons": ["a"]});
        carts.create_item("ann", "patched", cart, None).await?;
        let patch = PatchInstructions::from(vec![
            PatchOperation::increment("/total", 2i64),
            PatchOperation::add("/coupons/-", json!("b")),
            PatchOperation::set("/paid", json!(true)),
        ]);
        carts.patch_item("ann", "patched", patch, None).await?;
        let patched = read(carts, "patched", "ann").await?;
        equal(json!([patched["total"], patched["coupons"], patched["paid"]]), json!([3, ["a", "b"], true]))
    })
    .await;

    step("batch", async {
        let (first, second) =
            (json!({"id": "batch1", "customer": "bob"}), json!({"id": "batch2", "customer": "bob"}));
        let done = TransactionalBatch::new("bob").create_item(first)?.upsert_item(&second, None)?;
        equal(statuses(carts, done).await?, vec![201, 201])?;
        let undone = TransactionalBatch::new("bob").delete_item("batch1", None).create_item(&second)?;
        equal(statuses(carts, undone).await?, vec![424, 409])?;
        equal(read(carts, "batch1", "bob").await?["id"].clone(), json!("batch1"))
    })
    .await;

    absent("bulk", "the client has no bulk call");

    // Queries

    let everywhere = FeedScope::full_container;

    step("query-partition", async {
        let query = "SELECT VALUE c.total FROM c WHERE c.total > 20 ORDER BY c.total DESC";
        equal(query_all::<u64>(orders, query, FeedScope::partition("c1")).await?, vec![33, 25])
    })
    .await;

    step("query-parameters", async {
        let query = Query::from("SELECT VALUE c.id FROM c WHERE c.customer = @customer AND c.total < @limit")
            .with_parameter("@customer", "c2")?
            .with_parameter("@limit", 10)?;
        equal(query_all::<String>(orders, query, everywhere()).await?, vec!["o2".to_string()])
    })
    .await;

    step("query-across", async {
        let found = query_all::<Value>(orders, "SELECT * FROM c WHERE c.total >= 30", everywhere()).await?;
        equal(found.len(), 10)
    })
    .await;

    step("order-by", async {
        let query = "SELECT VALUE c.total FROM c WHERE c.total >= 35 ORDER BY c.total DESC";
        equal(query_all::<u64>(orders, query, everywhere()).await?, vec![39, 38, 37, 36, 35])
    })
    .await;

    step("aggregates", async {
        let sums = query_all::<f64>(orders, "SELECT VALUE SUM(c.total) FROM c", everywhere()).await?;
        equal(sums, vec![780.0])
    })
    .await;

    step("group-by", async {
        let query = "SELECT c.customer, COUNT(1) AS orders FROM c GROUP BY c.customer";
        equal(query_all::<Value>(orders, query, everywhere()).await?.len(), 8)
    })
    .await;

    step("paging", async {
        for size in PAGE_SIZES {
            let mut totals = read_pages(orders, "SELECT * FROM c", size, everywhere()).await?;
            totals.sort();
            equal(totals, (0..40).collect())?;
        }
        Ok(())
    })
    .await;

    let in_order = "SELECT * FROM c ORDER BY c.total";

    step("paging-order-by", async {
        for size in PAGE_SIZES {
            let totals = read_pages(orders, in_order, size, FeedScope::partition("c1")).await?;
            equal(totals, vec![1, 9, 17, 25, 33])?;
        }
        Ok(())
    })
    .await;

    step("paging-order-by-across", async {
        for size in PAGE_SIZES {
            let totals = read_pages(orders, in_order, size, everywhere()).await?;
            equal(totals, (0..40).collect())?;
        }
        Ok(())
    })
    .await;

    // Change feed

    step("change-feed", async {
        database.create_container(ContainerProperties::new("events", "/customer".into()), None).await?;
        let events = database.container_client("events", None).await?;
        events.create_item("ann", "1", json!({"id": "1", "customer": "ann"}), None).await?;
        events.create_item("bob", "2", json!({"id": "2", "customer": "bob"}), None).await?;
        events.upsert_item("ann", "1", json!({"id": "1", "customer": "ann", "changed": true}), None).await?;
        let (ids, token) = read_feed(&events, None).await?;
        equal(ids.join(" "), "2 1".to_string())?;
        events.create_item("ann", "3", json!({"id": "3", "customer": "ann"}), None).await?;
        equal(read_feed(&events, Some(token)).await?.0.join(" "), "3".to_string())
    })
    .await;

    step("change-feed-across", async { equal(read_feed(orders, None).await?.0.len(), 40) }).await;

    absent("change-feed-processor", "the client reads the feed by pages only");
    absent("change-feed-processor-metadata", "the client reads the feed by pages only");

    // Throughput

    step("throughput", async {
        let current = orders.read_throughput(None).await?.ok_or("no throughput")?;
        equal(current.throughput(), Some(20_000))?;
        orders.begin_replace_throughput(ThroughputProperties::manual(21_000), None).await?.await?;
        let current = orders.read_throughput(None).await?.ok_or("no throughput")?;
        equal(current.throughput(), Some(21_000))
    })
    .await;

    absent("stored-procedure", "the client has no calls for scripts");
    absent("trigger", "the client has no calls for scripts");
    absent("user-defined-function", "the client has no calls for scripts");
    absent("users", "the client has no calls for users");
    absent("resource-token", "the client takes only account keys and Entra tokens");

    // Expiry by the manual clock

    let properties = ContainerProperties::new("sessions", "/user".into());
    database.create_container(properties.with_default_ttl(60), None).await?;
    let sessions = &database.container_client("sessions", None).await?;

    step("expiry-read", async {
        sessions.create_item("ann", "default", json!({"id": "default", "user": "ann"}), None).await?;
        sessions
            .create_item("ann", "longer", json!({"id": "longer", "user": "ann", "ttl": 90}), None)
            .await?;
        advance_clock("59s").await?;
        read(sessions, "default", "ann").await?;
        advance_clock("1s").await?;
        equal(refusal(sessions.read_item("ann", "default", None).await), 404)?;
        read(sessions, "longer", "ann").await?;
        Ok(())
    })
    .await;

    step("expiry-query", async {
        let found = query_all::<String>(sessions, "SELECT VALUE c.id FROM c", everywhere()).await?;
        equal(found, vec!["longer".to_string()])
    })
    .await;

    step("expiry-feed", async { equal(read_feed(sessions, None).await?.0, vec!["longer".to_string()]) })
        .await;

    // The connection

    step("binary-json", async {
        let client = connect(endpoint).await?;
        let carts = client.database_client("shop").container_client("carts", None).await?;
        let cart = json!({"id": "binary", "customer": "ann", "total": 1});
        carts.create_item("ann", "binary", cart, None).await?;
        equal(read(&carts, "binary", "ann").await?["total"].clone(), json!(1))
    })
    .await;

    step("http2", async {
        // A client that found no HTTP/2 would fail now and then.
        for _ in 0..10 {
            connect(endpoint).await?;
        }
        Ok(())
    })
    .await;

    step("https", async {
        // SSL_CERT_FILE names the certificate that "mayfly cert" writes.
        let client = connect(&endpoint.replace("http:", "https:")).await?;
        let carts = client.database_client("shop").container_client("carts", None).await?;
        equal(read(&carts, "cart1", "ann").await?["id"].clone(), json!("cart1"))
    })
    .await;

    step("delete-database", async {
        database.delete(None).await?;
        equal(refusal(database.read(None).await), 404)
    })
    .await;
    Ok(())
}

async fn statuses(container: &ContainerClient, batch: TransactionalBatch) -> Result<Vec<u16>> {
    let answer = container.execute_transactional_batch(batch, Some(BatchOptions::default())).await?;
    Ok(answer.into_model()?.results().iter().map(|result| result.status_code()).collect())
}
