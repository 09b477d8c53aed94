//! What a program does with Mayfly through mongodb, the official driver for Rust.

mod report;

use futures::{AsyncReadExt, AsyncWriteExt, FutureExt, TryStreamExt};
use mongodb::bson::{doc, Document};
use mongodb::change_stream::event::OperationType;
use mongodb::options::{
    ClientOptions, Collation, CollationStrength, Credential, GridFsBucketOptions, IndexOptions,
    ReturnDocument, Tls, TlsOptions,
};
use mongodb::{Client, Collection, IndexModel};
use report::{absent, equal, refusal, step, Outcome};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::{env, error::Error, path::PathBuf, time::Duration};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Cart {
    #[serde(rename = "_id")]
    id: String,
    customer: String,
    total: i32,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<String>>,
}

fn cart(id: &str, customer: &str, total: i32) -> Cart {
    Cart { id: id.into(), customer: customer.into(), total, items: None }
}

async fn total(carts: &Collection<Cart>, id: &str) -> Result<Option<i32>, Box<dyn Error>> {
    Ok(carts.find_one(doc! { "_id": id }).await?.map(|cart| cart.total))
}

/// Moves the clock of Mayfly, which stands still otherwise.
async fn advance_clock(duration: &str) -> Outcome {
    let url = format!("{}/_mayfly/clock", env::var("MAYFLY_ENDPOINT")?);
    let request = reqwest::Client::new().post(url).header("content-type", "application/json");
    let answer = request.body(json!({"advance": duration}).to_string()).send().await?;
    equal(answer.status().as_u16(), 200)
}

#[tokio::main]
async fn main() -> Outcome {
    let uri = env::var("MONGODB_URI")?;
    let client = Client::with_uri_str(&uri).await?;
    let shop = client.database("shop");
    let carts = shop.collection::<Cart>("carts");
    let sessions = shop.collection::<Document>("sessions");

    // Documents

    step("connect", async {
        equal(client.list_database_names().await?.contains(&"admin".to_string()), true)
    })
    .await;

    step("insert", async {
        carts.insert_one(cart("cart0", "ann", 0)).await?;
        let many = (1..40).map(|n| cart(&format!("cart{n}"), &format!("c{}", (n - 1) % 4), n));
        equal(carts.insert_many(many).await?.inserted_ids.len(), 39)
    })
    .await;

    step("find", async {
        equal(total(&carts, "cart7").await?, Some(7))?;
        let totals = carts.clone_with_type::<Document>();
        let found = totals.find(doc! { "total": { "$gte": 37 } });
        let found = found.sort(doc! { "total": -1 }).projection(doc! { "_id": 0, "total": 1 }).await?;
        let found: Vec<Document> = found.try_collect().await?;
        equal(found, vec![doc! { "total": 39 }, doc! { "total": 38 }, doc! { "total": 37 }])
    })
    .await;

    step("cursor", async {
        let cursor = carts.find(doc! {}).sort(doc! { "total": 1 }).batch_size(7).await?;
        let seen: Vec<i32> = cursor.map_ok(|cart| cart.total).try_collect().await?;
        equal(seen, (0..40).collect())
    })
    .await;

    step("collation", async {
        let english = Collation::builder().locale("en").strength(CollationStrength::Secondary).build();
        let found = carts.find_one(doc! { "customer": "ANN" }).collation(english).await?;
        equal(found.map(|cart| cart.id), Some("cart0".into()))
    })
    .await;

    step("update", async {
        let change = doc! { "$inc": { "total": 100 }, "$push": { "items": "book" } };
        equal(carts.update_one(doc! { "_id": "cart1" }, change).await?.modified_count, 1)?;
        let expected = Cart { items: Some(vec!["book".into()]), ..cart("cart1", "c0", 101) };
        equal(carts.find_one(doc! { "_id": "cart1" }).await?, Some(expected))?;
        let change = doc! { "$set": { "items": [] } };
        equal(carts.update_many(doc! { "customer": "c1" }, change).await?.matched_count, 10)
    })
    .await;

    step("upsert", async {
        let change = doc! { "$set": { "customer": "bob", "total": 1 } };
        let made = carts.update_one(doc! { "_id": "new" }, change).upsert(true).await?;
        equal(made.upserted_id, Some("new".into()))
    })
    .await;

    step("replace", async {
        carts.replace_one(doc! { "_id": "new" }, cart("new", "bob", 2)).await?;
        equal(total(&carts, "new").await?, Some(2))
    })
    .await;

    step("find-and-modify", async {
        let change = carts.find_one_and_update(doc! { "_id": "new" }, doc! { "$inc": { "total": 1 } });
        equal(change.return_document(ReturnDocument::After).await?.map(|cart| cart.total), Some(3))
    })
    .await;

    step("delete", async {
        equal(carts.delete_one(doc! { "_id": "new" }).await?.deleted_count, 1)?;
        equal(carts.count_documents(doc! {}).await?, 40)
    })
    .await;

    step("unique-index", async {
        let members = shop.collection::<Document>("members");
        let options = IndexOptions::builder().unique(true).build();
        members
            .create_index(IndexModel::builder().keys(doc! { "email": 1 }).options(options).build())
            .await?;
        members.insert_one(doc! { "email": "ann@example.com" }).await?;
        equal(refusal(members.insert_one(doc! { "email": "ann@example.com" }).await), 11000)
    })
    .await;

    // The driver sends the command bulkWrite, which came with MongoDB 8.0.
    absent("bulk", "the client has no bulk call for servers before MongoDB 8.0");

    // Pipelines

    step("aggregate", async {
        let stages = vec![
            doc! { "$match": { "customer": { "$ne": "ann" } } },
            doc! { "$group": { "_id": "$customer", "carts": { "$sum": 1 } } },
            doc! { "$sort": { "_id": 1 } },
        ];
        let groups: Vec<Document> = carts.aggregate(stages).await?.try_collect().await?;
        equal(groups[0].clone(), doc! { "_id": "c0", "carts": 10 })
    })
    .await;

    step("lookup", async {
        shop.collection::<Document>("customers").insert_one(doc! { "_id": "ann", "city": "Paris" }).await?;
        let join = doc! { "from": "customers", "localField": "customer", "foreignField": "_id", "as": "who" };
        let stages = vec![doc! { "$match": { "customer": "ann" } }, doc! { "$lookup": join }];
        let found = carts.aggregate(stages).await?.try_next().await?.ok_or("nothing joined")?;
        equal(found.get_array("who")?[0].clone(), doc! { "_id": "ann", "city": "Paris" }.into())
    })
    .await;

    // Expiry by the manual clock

    step("ttl-index", async {
        let options = IndexOptions::builder().expire_after(Duration::from_secs(60)).build();
        sessions.create_index(IndexModel::builder().keys(doc! { "_ts": 1 }).options(options).build()).await?;
        let indexes: Vec<IndexModel> = sessions.list_indexes().await?.try_collect().await?;
        let expiry = indexes[1].options.as_ref().and_then(|options| options.expire_after);
        equal(expiry, Some(Duration::from_secs(60)))
    })
    .await;

    step("expiry-find", async {
        sessions.insert_many([doc! { "_id": "default" }, doc! { "_id": "longer", "ttl": 90 }]).await?;
        advance_clock("59s").await?;
        equal(sessions.find_one(doc! { "_id": "default" }).await?.is_some(), true)?;
        advance_clock("1s").await?;
        equal(sessions.find_one(doc! { "_id": "default" }).await?, None)?;
        equal(sessions.find_one(doc! { "_id": "longer" }).await?.is_some(), true)
    })
    .await;

    step("expiry-count", async {
        equal(sessions.count_documents(doc! {}).await?, 1)?;
        let groups = sessions.aggregate([doc! { "$group": { "_id": "$_id" } }]).await?;
        equal(groups.try_collect::<Vec<Document>>().await?, vec![doc! { "_id": "longer" }])
    })
    .await;

    // Sessions and transactions

    step("session", async {
        let mut session = client.start_session().causal_consistency(true).await?;
        carts.insert_one(cart("causal", "ann", 1)).session(&mut session).await?;
        let found = carts.find_one(doc! { "_id": "causal" }).session(&mut session).await?;
        equal(found.map(|cart| cart.total), Some(1))
    })
    .await;

    step("transaction", async {
        let mut session = client.start_session().await?;
        let work = session.start_transaction().and_run(&carts, |session, carts| {
            async move {
                carts.insert_one(cart("paid", "bob", 5)).session(&mut *session).await?;
                carts.delete_one(doc! { "_id": "causal" }).session(&mut *session).await
            }
            .boxed()
        });
        work.await?;
        equal(total(&carts, "paid").await?, Some(5))?;
        equal(total(&carts, "causal").await?, None)
    })
    .await;

    step("transaction-abort", async {
        let mut session = client.start_session().await?;
        session.start_transaction().await?;
        carts.delete_one(doc! { "_id": "paid" }).session(&mut session).await?;
        session.abort_transaction().await?;
        equal(total(&carts, "paid").await?, Some(5))
    })
    .await;

    // Change streams

    step("change-stream", async {
        let mut stream = carts.watch().await?;
        carts.insert_one(cart("watched", "bob", 1)).await?;
        let event = stream.try_next().await?.ok_or("the stream ended")?;
        equal(event.operation_type, OperationType::Insert)?;
        equal(event.document_key, Some(doc! { "_id": "watched" }))?;
        drop(stream);
        carts.update_one(doc! { "_id": "watched" }, doc! { "$set": { "total": 2 } }).await?;
        let mut resumed = carts.watch().resume_after(event.id).await?;
        let event = resumed.try_next().await?.ok_or("the stream ended")?;
        equal(event.operation_type, OperationType::Update)
    })
    .await;

    step("change-stream-expiry", async {
        let mut stream = sessions.watch().await?;
        advance_clock("30s").await?;
        // An event comes when the document is purged: that of an earlier death may come first.
        loop {
            let event = stream.try_next().await?.ok_or("the stream ended")?;
            equal(event.operation_type, OperationType::Delete)?;
            if event.document_key == Some(doc! { "_id": "longer" }) {
                return Ok(());
            }
        }
    })
    .await;

    // Users, files, TLS

    step("users", async {
        shop.run_command(doc! { "createUser": "reader", "pwd": "secret", "roles": ["read"] }).await?;
        let mut options = ClientOptions::parse(&uri).await?;
        options.credential = Some(
            Credential::builder()
                .username("reader".to_string())
                .password("secret".to_string())
                .source("shop".to_string())
                .build(),
        );
        let seen = Client::with_options(options)?.database("shop").collection::<Cart>("carts");
        equal(total(&seen, "paid").await?, Some(5))?;
        equal(refusal(seen.delete_one(doc! { "_id": "paid" }).await), 13)
    })
    .await;

    step("gridfs", async {
        let options = GridFsBucketOptions::builder().chunk_size_bytes(1000).build();
        let bucket = shop.gridfs_bucket(options);
        let mut upload = bucket.open_upload_stream("letter.txt").await?;
        upload.write_all(&[b'x'; 2500]).await?;
        upload.close().await?;
        let mut read = vec![];
        bucket.open_download_stream_by_name("letter.txt").await?.read_to_end(&mut read).await?;
        equal(read.len(), 2500)
    })
    .await;

    step("tls", async {
        let mut options = ClientOptions::parse(&uri).await?;
        let certificate = PathBuf::from(env::var("MAYFLY_CERTIFICATE")?);
        let trusted = TlsOptions::builder().ca_file_path(certificate).build();
        options.tls = Some(Tls::Enabled(trusted));
        let seen = Client::with_options(options)?.database("shop").collection::<Cart>("carts");
        equal(total(&seen, "paid").await?, Some(5))
    })
    .await;

    step("drop", async {
        shop.drop().await?;
        equal(carts.count_documents(doc! {}).await?, 0)
    })
    .await;
    Ok(())
}
