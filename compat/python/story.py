"""What a program does with Mayfly through azure-cosmos, the official client for Python."""

import json
import os
import urllib.request

from azure.core import MatchConditions
from azure.cosmos import CosmosClient, PartitionKey
from azure.cosmos.exceptions import CosmosBatchOperationError
from report import absent, refusal, step

endpoint = os.environ["COSMOS_ENDPOINT"]
client = CosmosClient(endpoint, os.environ["COSMOS_KEY"])
database = client.get_database_client("shop")
carts = database.get_container_client("carts")
orders = database.get_container_client("orders")


def advance_clock(duration):
    """Moves the clock of Mayfly, which stands still otherwise."""
    body = json.dumps({"advance": duration}).encode()
    headers = {"content-type": "application/json"}
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/_mayfly/clock", body, headers)).close()


def equal(actual, expected):
    assert actual == expected, f"{actual!r} instead of {expected!r}"


# Databases and containers


@step("database")
def _():
    client.create_database("shop")
    equal([found["id"] for found in client.list_databases()], ["shop"])


@step("container-ttl")
def _():
    database.create_container("carts", PartitionKey("/customer"), default_ttl=3600)
    equal(carts.read()["defaultTtl"], 3600)


@step("partitions")
def _():
    database.create_container("orders", PartitionKey("/customer"), offer_throughput=20_000)
    assert len(list(orders.read_feed_ranges())) >= 2
    for n in range(40):
        orders.create_item({"id": f"o{n}", "customer": f"c{n % 8}", "total": n})


# Items


@step("create")
def _():
    created = carts.create_item({"id": "cart1", "customer": "ann", "total": 10})
    equal(created["total"], 10)


@step("read")
def _():
    equal(carts.read_item("cart1", "ann")["total"], 10)


@step("replace")
def _():
    replaced = carts.replace_item("cart1", {"id": "cart1", "customer": "ann", "total": 20})
    equal(replaced["total"], 20)


@step("upsert")
def _():
    equal(carts.upsert_item({"id": "cart1", "customer": "ann", "total": 30})["total"], 30)
    equal(carts.upsert_item({"id": "cart2", "customer": "ann", "total": 5})["total"], 5)


@step("delete")
def _():
    carts.delete_item("cart2", "ann")
    equal(refusal(lambda: carts.read_item("cart2", "ann")), 404)


@step("by-object")
def _():
    cart = carts.create_item({"id": "object", "customer": "ann", "total": 1})
    equal(carts.read_item(cart, "ann")["total"], 1)
    equal(carts.replace_item(cart, {**cart, "total": 2})["total"], 2)
    carts.patch_item(cart, "ann", [{"op": "incr", "path": "/total", "value": 1}])
    carts.delete_item(cart, "ann")
    equal(refusal(lambda: carts.read_item("object", "ann")), 404)


@step("read-many")
def _():
    found = orders.read_items([("o1", "c1"), ("o2", "c2"), ("o9", "c1"), ("none", "c1")])
    equal(sorted(order["id"] for order in found), ["o1", "o2", "o9"])


@step("item-ttl")
def _():
    carts.create_item({"id": "short", "customer": "ann", "ttl": 30})
    equal(carts.read_item("short", "ann")["ttl"], 30)


@step("etag")
def _():
    cart = carts.create_item({"id": "tagged", "customer": "ann"})
    condition = {"etag": cart["_etag"], "match_condition": MatchConditions.IfNotModified}
    carts.replace_item("tagged", {"id": "tagged", "customer": "ann", "total": 1}, **condition)
    again = {"id": "tagged", "customer": "ann", "total": 2}
    equal(refusal(lambda: carts.replace_item("tagged", again, **condition)), 412)


@step("unique-key")
def _():
    policy = {"uniqueKeys": [{"paths": ["/email"]}]}
    members = database.create_container("members", PartitionKey("/club"), unique_key_policy=policy)
    members.create_item({"id": "1", "club": "chess", "email": "ann@example.com"})
    second = {"id": "2", "club": "chess", "email": "ann@example.com"}
    equal(refusal(lambda: members.create_item(second)), 409)


@step("patch")
def _():
    carts.create_item({"id": "patched", "customer": "ann", "total": 1, "coupons": ["a"]})
    operations = [
        {"op": "incr", "path": "/total", "value": 2},
        {"op": "add", "path": "/coupons/-", "value": "b"},
        {"op": "set", "path": "/paid", "value": True},
    ]
    patched = carts.patch_item("patched", "ann", operations)
    equal([patched["total"], patched["coupons"], patched["paid"]], [3, ["a", "b"], True])


@step("batch")
def _():
    first, second = {"id": "batch1", "customer": "bob"}, {"id": "batch2", "customer": "bob"}
    done = carts.execute_item_batch([("create", (first,)), ("upsert", (second,))], "bob")
    equal([answer["statusCode"] for answer in done], [201, 201])
    try:
        carts.execute_item_batch([("delete", ("batch1",)), ("create", (second,))], "bob")
        raise AssertionError("a batch with a conflict was carried out")
    except CosmosBatchOperationError as error:
        equal([answer["statusCode"] for answer in error.operation_responses], [424, 409])
    equal(carts.read_item("batch1", "bob")["id"], "batch1")


absent("bulk", "the client has no bulk call")

# Queries


@step("query-partition")
def _():
    query = "SELECT VALUE c.total FROM c WHERE c.total > 20 ORDER BY c.total DESC"
    equal(list(orders.query_items(query, partition_key="c1")), [33, 25])


@step("query-parameters")
def _():
    query = "SELECT VALUE c.id FROM c WHERE c.customer = @customer AND c.total < @limit"
    parameters = [{"name": "@customer", "value": "c2"}, {"name": "@limit", "value": 10}]
    found = orders.query_items(query, parameters=parameters, enable_cross_partition_query=True)
    equal(list(found), ["o2"])


@step("query-across")
def _():
    found = orders.query_items("SELECT * FROM c WHERE c.total >= 30", enable_cross_partition_query=True)
    equal(len(list(found)), 10)


@step("order-by")
def _():
    query = "SELECT VALUE c.total FROM c WHERE c.total >= 35 ORDER BY c.total DESC"
    found = orders.query_items(query, enable_cross_partition_query=True)
    equal(list(found), [39, 38, 37, 36, 35])


@step("aggregates")
def _():
    sums = orders.query_items("SELECT VALUE SUM(c.total) FROM c", enable_cross_partition_query=True)
    equal(list(sums), [780])


@step("group-by")
def _():
    query = "SELECT c.customer, COUNT(1) AS orders FROM c GROUP BY c.customer"
    groups = list(orders.query_items(query, enable_cross_partition_query=True))
    equal([group["orders"] for group in groups], [5] * 8)


page_sizes = [3, 10]


def read_pages(query, size, **options):
    """Reads a query page by page. Each page has an iterator of its own: the token is all that is kept."""
    seen, token = [], None
    for _ in range(40):
        pages = orders.query_items(query, max_item_count=size, **options).by_page(token)
        # Without rows there is no page.
        page = list(next(pages, []))
        assert len(page) <= size
        seen += page
        token = pages.continuation_token
        if token is None or not page:
            return seen
    raise AssertionError("the pages do not end")


@step("paging")
def _():
    for size in page_sizes:
        seen = read_pages("SELECT * FROM c", size, enable_cross_partition_query=True)
        equal(sorted(order["total"] for order in seen), list(range(40)))


@step("paging-order-by")
def _():
    for size in page_sizes:
        seen = read_pages("SELECT * FROM c ORDER BY c.total", size, partition_key="c1")
        equal([order["total"] for order in seen], [1, 9, 17, 25, 33])


absent("paging-order-by-across", "the client has tokens for ORDER BY only within one partition")

# Change feed


def read_feed(container, **start):
    """Reads the feed of a container until it has nothing new."""
    ids = [item["id"] for item in container.query_items_change_feed(**start)]
    return ids, container.client_connection.last_response_headers["etag"]


@step("change-feed")
def _():
    events = database.create_container("events", PartitionKey("/customer"))
    events.create_item({"id": "1", "customer": "ann"})
    events.create_item({"id": "2", "customer": "bob"})
    events.upsert_item({"id": "1", "customer": "ann", "changed": True})
    ids, continuation = read_feed(events, start_time="Beginning")
    equal(ids, ["2", "1"])
    events.create_item({"id": "3", "customer": "ann"})
    ids, _ = read_feed(events, continuation=continuation)
    equal(ids, ["3"])


@step("change-feed-across")
def _():
    ids, _ = read_feed(orders, start_time="Beginning")
    equal(sorted(ids), sorted(f"o{n}" for n in range(40)))


absent("change-feed-processor", "the client reads the feed by iterator only")
absent("change-feed-processor-metadata", "the client reads the feed by iterator only")

# Throughput


@step("throughput")
def _():
    equal(orders.get_throughput().offer_throughput, 20_000)
    orders.replace_throughput(21_000)
    equal(orders.get_throughput().offer_throughput, 21_000)


# Scripts


@step("stored-procedure")
def _():
    body = "function (name) { getContext().getResponse().setBody('hello ' + name) }"
    carts.scripts.create_stored_procedure({"id": "greet", "body": body})
    answer = carts.scripts.execute_stored_procedure("greet", partition_key="ann", params=["Ann"])
    equal(answer, "hello Ann")


@step("trigger")
def _():
    body = """function () {
      const request = getContext().getRequest(), item = request.getBody()
      item.checked = true
      request.setBody(item)
    }"""
    trigger = {"id": "check", "serverScript": body, "triggerType": "Pre", "triggerOperation": "Create"}
    carts.scripts.create_trigger(trigger)
    created = carts.create_item({"id": "t", "customer": "ann"}, pre_trigger_include="check")
    equal(created["checked"], True)


@step("user-defined-function")
def _():
    body = "function (total) { return total * 1.2 }"
    orders.scripts.create_user_defined_function({"id": "withTax", "body": body})
    query = "SELECT VALUE udf.withTax(c.total) FROM c WHERE c.id = 'o10'"
    equal(list(orders.query_items(query, enable_cross_partition_query=True)), [12])


# Users, permissions and resource tokens


@step("users")
def _():
    user = database.create_user({"id": "ann"})
    user.create_permission({"id": "read-carts", "permissionMode": "Read", "resource": carts.container_link})
    equal([permission["id"] for permission in user.list_permissions()], ["read-carts"])


@step("resource-token")
def _():
    permission = database.get_user_client("ann").get_permission("read-carts")
    tokens = {carts.container_link: permission.properties["_token"]}
    guest = CosmosClient(endpoint, tokens).get_database_client("shop").get_container_client("carts")
    equal(guest.read_item("cart1", "ann")["id"], "cart1")
    equal(refusal(lambda: guest.create_item({"id": "no", "customer": "ann"})), 403)


# Expiry by the manual clock

sessions = database.get_container_client("sessions")


@step("expiry-read")
def _():
    database.create_container("sessions", PartitionKey("/user"), default_ttl=60)
    sessions.create_item({"id": "default", "user": "ann"})
    sessions.create_item({"id": "longer", "user": "ann", "ttl": 90})
    advance_clock("59s")
    equal(sessions.read_item("default", "ann")["id"], "default")
    advance_clock("1s")
    equal(refusal(lambda: sessions.read_item("default", "ann")), 404)
    equal(sessions.read_item("longer", "ann")["id"], "longer")


@step("expiry-query")
def _():
    found = sessions.query_items("SELECT VALUE c.id FROM c", enable_cross_partition_query=True)
    equal(list(found), ["longer"])


@step("expiry-feed")
def _():
    ids, _ = read_feed(sessions, start_time="Beginning")
    equal(ids, ["longer"])


# The connection

absent("binary-json", "the client sends and reads JSON as text")
absent("http2", "the client speaks HTTP/1.1")


@step("https")
def _():
    secure = CosmosClient(
        endpoint.replace("http:", "https:"),
        os.environ["COSMOS_KEY"],
        connection_verify=os.environ["COSMOS_CERTIFICATE"],
    )
    cart = secure.get_database_client("shop").get_container_client("carts").read_item("cart1", "ann")
    equal(cart["id"], "cart1")


@step("delete-database")
def _():
    client.delete_database("shop")
    equal(refusal(database.read), 404)
