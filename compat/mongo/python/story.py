"""What a program does with Mayfly through pymongo, the official driver for Python."""

import json
import os
import urllib.request

from gridfs import GridFSBucket
from pymongo import DeleteOne, InsertOne, MongoClient, ReturnDocument, UpdateOne
from pymongo.collation import Collation
from report import refusal, step

uri = os.environ["MONGODB_URI"]
client = MongoClient(uri)
shop = client.shop
carts = shop.carts


def advance_clock(duration):
    """Moves the clock of Mayfly, which stands still otherwise."""
    body = json.dumps({"advance": duration}).encode()
    headers = {"content-type": "application/json"}
    address = f"{os.environ['MAYFLY_ENDPOINT']}/_mayfly/clock"
    urllib.request.urlopen(urllib.request.Request(address, body, headers)).close()


def equal(actual, expected):
    assert actual == expected, f"{actual!r} instead of {expected!r}"


# Documents


@step("connect")
def _():
    assert "admin" in client.list_database_names()


@step("insert")
def _():
    equal(carts.insert_one({"_id": "cart0", "customer": "ann", "total": 0}).inserted_id, "cart0")
    many = [{"_id": f"cart{n}", "customer": f"c{(n - 1) % 4}", "total": n} for n in range(1, 40)]
    equal(len(carts.insert_many(many).inserted_ids), 39)


@step("find")
def _():
    equal(carts.find_one({"_id": "cart7"})["total"], 7)
    found = carts.find({"total": {"$gte": 37}}, {"_id": 0, "total": 1}).sort("total", -1)
    equal(list(found), [{"total": 39}, {"total": 38}, {"total": 37}])


@step("cursor")
def _():
    equal([cart["total"] for cart in carts.find().sort("total").batch_size(7)], list(range(40)))


@step("collation")
def _():
    found = carts.find_one({"customer": "ANN"}, collation=Collation("en", strength=2))
    equal(found["_id"], "cart0")


@step("update")
def _():
    change = {"$inc": {"total": 100}, "$push": {"items": "book"}}
    equal(carts.update_one({"_id": "cart1"}, change).modified_count, 1)
    equal(carts.find_one("cart1"), {"_id": "cart1", "customer": "c0", "total": 101, "items": ["book"]})
    equal(carts.update_many({"customer": "c1"}, {"$set": {"items": []}}).matched_count, 10)


@step("upsert")
def _():
    made = carts.update_one({"_id": "new"}, {"$set": {"customer": "bob", "total": 1}}, upsert=True)
    equal(made.upserted_id, "new")


@step("replace")
def _():
    carts.replace_one({"_id": "new"}, {"customer": "bob", "total": 2})
    equal(carts.find_one("new"), {"_id": "new", "customer": "bob", "total": 2})


@step("find-and-modify")
def _():
    after = carts.find_one_and_update(
        {"_id": "new"}, {"$inc": {"total": 1}}, return_document=ReturnDocument.AFTER
    )
    equal(after["total"], 3)


@step("delete")
def _():
    equal(carts.delete_one({"_id": "new"}).deleted_count, 1)
    equal(carts.count_documents({}), 40)


@step("unique-index")
def _():
    shop.members.create_index("email", unique=True)
    shop.members.insert_one({"email": "ann@example.com"})
    equal(refusal(lambda: shop.members.insert_one({"email": "ann@example.com"})), 11000)


@step("bulk")
def _():
    operations = [
        InsertOne({"_id": "bulk", "customer": "bob", "total": 1}),
        UpdateOne({"_id": "bulk"}, {"$inc": {"total": 1}}),
        DeleteOne({"_id": "bulk"}),
    ]
    result = carts.bulk_write(operations)
    equal([result.inserted_count, result.modified_count, result.deleted_count], [1, 1, 1])


# Pipelines


@step("aggregate")
def _():
    groups = carts.aggregate(
        [
            {"$match": {"customer": {"$ne": "ann"}}},
            {"$group": {"_id": "$customer", "carts": {"$sum": 1}}},
            {"$sort": {"_id": 1}},
        ]
    )
    equal(groups.next(), {"_id": "c0", "carts": 10})


@step("lookup")
def _():
    shop.customers.insert_one({"_id": "ann", "city": "Paris"})
    join = {"from": "customers", "localField": "customer", "foreignField": "_id", "as": "who"}
    found = carts.aggregate([{"$match": {"customer": "ann"}}, {"$lookup": join}]).next()
    equal(found["who"][0]["city"], "Paris")


# Expiry by the manual clock

sessions = shop.sessions


@step("ttl-index")
def _():
    sessions.create_index("_ts", expireAfterSeconds=60)
    equal(sessions.index_information()["_ts_1"]["expireAfterSeconds"], 60)


@step("expiry-find")
def _():
    sessions.insert_many([{"_id": "default"}, {"_id": "longer", "ttl": 90}])
    advance_clock("59s")
    equal(sessions.find_one("default"), {"_id": "default"})
    advance_clock("1s")
    equal(sessions.find_one("default"), None)
    equal(sessions.find_one("longer"), {"_id": "longer", "ttl": 90})


@step("expiry-count")
def _():
    equal(sessions.count_documents({}), 1)
    equal(list(sessions.aggregate([{"$group": {"_id": "$_id"}}])), [{"_id": "longer"}])


# Sessions and transactions


@step("session")
def _():
    with client.start_session(causal_consistency=True) as session:
        carts.insert_one({"_id": "causal", "customer": "ann", "total": 1}, session=session)
        equal(carts.find_one("causal", session=session)["total"], 1)


@step("transaction")
def _():
    def pay(session):
        carts.insert_one({"_id": "paid", "customer": "bob", "total": 5}, session=session)
        carts.delete_one({"_id": "causal"}, session=session)

    with client.start_session() as session:
        session.with_transaction(pay)
    equal(carts.find_one("paid")["total"], 5)
    equal(carts.find_one("causal"), None)


@step("transaction-abort")
def _():
    with client.start_session() as session:
        session.start_transaction()
        carts.delete_one({"_id": "paid"}, session=session)
        session.abort_transaction()
    equal(carts.find_one("paid")["total"], 5)


# Change streams


@step("change-stream")
def _():
    with carts.watch() as stream:
        carts.insert_one({"_id": "watched", "customer": "bob", "total": 1})
        event = next(stream)
    equal([event["operationType"], event["documentKey"]], ["insert", {"_id": "watched"}])
    carts.update_one({"_id": "watched"}, {"$set": {"total": 2}})
    with carts.watch(resume_after=event["_id"]) as resumed:
        equal(next(resumed)["operationType"], "update")


@step("change-stream-expiry")
def _():
    with sessions.watch() as stream:
        advance_clock("30s")
        # An event comes when the document is purged: that of an earlier death may come first.
        event = next(event for event in stream if event["documentKey"] == {"_id": "longer"})
    equal(event["operationType"], "delete")


# Users, files, TLS


@step("users")
def _():
    shop.command("createUser", "reader", pwd="secret", roles=["read"])
    with MongoClient(uri, username="reader", password="secret", authSource="shop") as reader:
        equal(reader.shop.carts.find_one("paid")["total"], 5)
        equal(refusal(lambda: reader.shop.carts.delete_one({"_id": "paid"})), 13)


@step("gridfs")
def _():
    bucket = GridFSBucket(shop, chunk_size_bytes=1000)
    bucket.upload_from_stream("letter.txt", b"x" * 2500)
    equal(len(bucket.open_download_stream_by_name("letter.txt").read()), 2500)


@step("tls")
def _():
    with MongoClient(uri, tls=True, tlsCAFile=os.environ["MAYFLY_CERTIFICATE"]) as secure:
        equal(secure.shop.carts.find_one("paid")["total"], 5)


@step("drop")
def _():
    client.drop_database("shop")
    equal(carts.count_documents({}), 0)
