// What a program does with Mayfly through azcosmos, the official client for Go.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"sort"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/data/azcosmos"
)

type item struct {
	ID       string   `json:"id"`
	Customer string   `json:"customer,omitempty"`
	User     string   `json:"user,omitempty"`
	Club     string   `json:"club,omitempty"`
	Email    string   `json:"email,omitempty"`
	Total    int      `json:"total"`
	Coupons  []string `json:"coupons,omitempty"`
	Paid     bool     `json:"paid,omitempty"`
	TTL      int      `json:"ttl,omitempty"`
}

var (
	ctx      = context.Background()
	endpoint = os.Getenv("COSMOS_ENDPOINT")
	key      = azcosmos.NewPartitionKeyString
)

func toJSON(value any) []byte { return must(json.Marshal(value)) }

func fromJSON[T any](text []byte) (value T) {
	if err := json.Unmarshal(text, &value); err != nil {
		panic(err)
	}
	return value
}

// advanceClock moves the clock of Mayfly, which stands still otherwise.
func advanceClock(duration string) {
	body := strings.NewReader(`{"advance":"` + duration + `"}`)
	answer := must(http.Post(endpoint+"/_mayfly/clock", "application/json", body))
	answer.Body.Close()
	equal(answer.StatusCode, 200)
}

// queryAll reads every page of a query. An empty partition key means all partitions.
func queryAll[T any](container *azcosmos.ContainerClient, query string, partition azcosmos.PartitionKey,
	options *azcosmos.QueryOptions) (found []T) {
	pager := container.NewQueryItemsPager(query, partition, options)
	for pager.More() {
		for _, row := range must(pager.NextPage(ctx)).Items {
			found = append(found, fromJSON[T](row))
		}
	}
	return found
}

// readFeed reads the change feed until it has nothing new: each range of the container from its own continuation.
func readFeed(container *azcosmos.ContainerClient, continuations map[azcosmos.FeedRange]string) (ids []string) {
	for _, part := range must(container.ReadFeedRanges(ctx, nil)) {
		for {
			options := &azcosmos.ChangeFeedOptions{FeedRange: &part}
			if continuation, known := continuations[part]; known {
				options.Continuation = &continuation
			}
			page := must(container.ReadChangeFeed(ctx, options))
			continuations[part] = page.ContinuationToken
			if len(page.Items) == 0 {
				break
			}
			for _, change := range page.Items {
				ids = append(ids, fromJSON[item](change).ID)
			}
		}
	}
	return ids
}

func main() {
	credential := must(azcosmos.NewKeyCredential(os.Getenv("COSMOS_KEY")))
	client := must(azcosmos.NewClientWithKey(endpoint, credential, nil))
	database := must(client.NewDatabase("shop"))
	carts := must(database.NewContainer("carts"))
	orders := must(database.NewContainer("orders"))
	sessions := must(database.NewContainer("sessions"))

	createContainer := func(
		properties azcosmos.ContainerProperties, path string, throughput int32,
	) *azcosmos.ContainerClient {
		// Version 1, the default, makes ReadManyItems of this client look into the wrong partition.
		properties.PartitionKeyDefinition = azcosmos.PartitionKeyDefinition{Paths: []string{path}, Version: 2}
		options := &azcosmos.CreateContainerOptions{}
		if throughput > 0 {
			options.ThroughputProperties = to.Ptr(azcosmos.NewManualThroughputProperties(throughput))
		}
		must(database.CreateContainer(ctx, properties, options))
		return must(database.NewContainer(properties.ID))
	}
	create := func(container *azcosmos.ContainerClient, partition string, value item) {
		must(container.CreateItem(ctx, key(partition), toJSON(value), nil))
	}
	read := func(container *azcosmos.ContainerClient, partition, id string) item {
		return fromJSON[item](must(container.ReadItem(ctx, key(partition), id, nil)).Value)
	}

	// Databases and containers

	step("database", func() {
		must(client.CreateDatabase(ctx, azcosmos.DatabaseProperties{ID: "shop"}, nil))
		page := must(client.NewQueryDatabasesPager("SELECT * FROM c", nil).NextPage(ctx))
		equal(page.Databases[0].ID, "shop")
	})

	step("container-ttl", func() {
		createContainer(azcosmos.ContainerProperties{ID: "carts", DefaultTimeToLive: to.Ptr(int32(3600))}, "/customer", 0)
		properties := must(carts.Read(ctx, nil)).ContainerProperties
		equal(*properties.DefaultTimeToLive, int32(3600))
	})

	step("partitions", func() {
		createContainer(azcosmos.ContainerProperties{ID: "orders"}, "/customer", 20_000)
		equal(len(must(orders.ReadFeedRanges(ctx, nil))) >= 2, true)
		for n := range 40 {
			customer := fmt.Sprint("c", n%8)
			create(orders, customer, item{ID: fmt.Sprint("o", n), Customer: customer, Total: n})
		}
	})

	// Items

	step("create", func() {
		create(carts, "ann", item{ID: "cart1", Customer: "ann", Total: 10})
	})

	step("read", func() {
		equal(read(carts, "ann", "cart1").Total, 10)
	})

	step("replace", func() {
		cart := item{ID: "cart1", Customer: "ann", Total: 20}
		must(carts.ReplaceItem(ctx, key("ann"), "cart1", toJSON(cart), nil))
		equal(read(carts, "ann", "cart1").Total, 20)
	})

	step("upsert", func() {
		changed := must(carts.UpsertItem(ctx, key("ann"), toJSON(item{ID: "cart1", Customer: "ann", Total: 30}), nil))
		equal(changed.RawResponse.StatusCode, 200)
		created := must(carts.UpsertItem(ctx, key("ann"), toJSON(item{ID: "cart2", Customer: "ann", Total: 5}), nil))
		equal(created.RawResponse.StatusCode, 201)
	})

	step("delete", func() {
		must(carts.DeleteItem(ctx, key("ann"), "cart2", nil))
		equal(refusal(carts.ReadItem(ctx, key("ann"), "cart2", nil)), 404)
	})

	absent("by-object", "items are always named by id and partition key")

	step("read-many", func() {
		found := must(orders.ReadManyItems(ctx, []azcosmos.ItemIdentity{
			{ID: "o1", PartitionKey: key("c1")},
			{ID: "o2", PartitionKey: key("c2")},
			{ID: "o9", PartitionKey: key("c1")},
			{ID: "none", PartitionKey: key("c1")},
		}, nil))
		var ids []string
		for _, order := range found.Items {
			ids = append(ids, fromJSON[item](order).ID)
		}
		sort.Strings(ids)
		equal(ids, []string{"o1", "o2", "o9"})
	})

	step("item-ttl", func() {
		create(carts, "ann", item{ID: "short", Customer: "ann", TTL: 30})
		equal(read(carts, "ann", "short").TTL, 30)
	})

	step("etag", func() {
		created := must(carts.CreateItem(ctx, key("ann"), toJSON(item{ID: "tagged", Customer: "ann"}), nil))
		options := &azcosmos.ItemOptions{IfMatchEtag: &created.ETag}
		again := toJSON(item{ID: "tagged", Customer: "ann", Total: 1})
		must(carts.ReplaceItem(ctx, key("ann"), "tagged", again, options))
		equal(refusal(carts.ReplaceItem(ctx, key("ann"), "tagged", again, options)), 412)
	})

	step("unique-key", func() {
		policy := &azcosmos.UniqueKeyPolicy{UniqueKeys: []azcosmos.UniqueKey{{Paths: []string{"/email"}}}}
		members := createContainer(azcosmos.ContainerProperties{ID: "members", UniqueKeyPolicy: policy}, "/club", 0)
		create(members, "chess", item{ID: "1", Club: "chess", Email: "ann@example.com"})
		second := toJSON(item{ID: "2", Club: "chess", Email: "ann@example.com"})
		equal(refusal(members.CreateItem(ctx, key("chess"), second, nil)), 409)
	})

	step("patch", func() {
		create(carts, "ann", item{ID: "patched", Customer: "ann", Total: 1, Coupons: []string{"a"}})
		operations := azcosmos.PatchOperations{}
		operations.AppendIncrement("/total", 2)
		operations.AppendAdd("/coupons/-", "b")
		operations.AppendSet("/paid", true)
		must(carts.PatchItem(ctx, key("ann"), "patched", operations, nil))
		patched := read(carts, "ann", "patched")
		equal([]any{patched.Total, patched.Coupons, patched.Paid}, []any{3, []string{"a", "b"}, true})
	})

	step("batch", func() {
		statuses := func(batch azcosmos.TransactionalBatch) (all []int32) {
			for _, result := range must(carts.ExecuteTransactionalBatch(ctx, batch, nil)).OperationResults {
				all = append(all, result.StatusCode)
			}
			return all
		}
		second := toJSON(item{ID: "batch2", Customer: "bob"})
		done := carts.NewTransactionalBatch(key("bob"))
		done.CreateItem(toJSON(item{ID: "batch1", Customer: "bob"}), nil)
		done.UpsertItem(second, nil)
		equal(statuses(done), []int32{201, 201})
		undone := carts.NewTransactionalBatch(key("bob"))
		undone.DeleteItem("batch1", nil)
		undone.CreateItem(second, nil)
		equal(statuses(undone), []int32{424, 409})
		equal(read(carts, "bob", "batch1").ID, "batch1")
	})

	absent("bulk", "the client has no bulk call")

	// Queries

	everywhere := azcosmos.NewPartitionKey()

	step("query-partition", func() {
		query := "SELECT VALUE c.total FROM c WHERE c.total > 20 ORDER BY c.total DESC"
		equal(queryAll[int](orders, query, key("c1"), nil), []int{33, 25})
	})

	step("query-parameters", func() {
		query := "SELECT VALUE c.id FROM c WHERE c.customer = @customer AND c.total < @limit"
		parameters := []azcosmos.QueryParameter{{Name: "@customer", Value: "c2"}, {Name: "@limit", Value: 10}}
		options := &azcosmos.QueryOptions{QueryParameters: parameters}
		equal(queryAll[string](orders, query, everywhere, options), []string{"o2"})
	})

	step("query-across", func() {
		found := queryAll[item](orders, "SELECT * FROM c WHERE c.total >= 30", everywhere, nil)
		equal(len(found), 10)
	})

	step("order-by", func() {
		query := "SELECT VALUE c.total FROM c WHERE c.total >= 35 ORDER BY c.total DESC"
		equal(queryAll[int](orders, query, everywhere, nil), []int{39, 38, 37, 36, 35})
	})

	step("aggregates", func() {
		equal(queryAll[int](orders, "SELECT VALUE SUM(c.total) FROM c", everywhere, nil), []int{780})
	})

	step("group-by", func() {
		query := "SELECT c.customer, COUNT(1) AS total FROM c GROUP BY c.customer"
		equal(len(queryAll[item](orders, query, everywhere, nil)), 8)
	})

	pageSizes := []int32{3, 10}

	// Each page has a pager of its own: the token is all that is kept.
	readPages := func(query string, partition azcosmos.PartitionKey, size int32) (totals []int) {
		options := &azcosmos.QueryOptions{PageSizeHint: size}
		for range 40 {
			page := must(orders.NewQueryItemsPager(query, partition, options).NextPage(ctx))
			equal(len(page.Items) <= int(size), true)
			for _, row := range page.Items {
				totals = append(totals, fromJSON[item](row).Total)
			}
			if page.ContinuationToken == nil {
				return totals
			}
			options.ContinuationToken = page.ContinuationToken
		}
		panic(fmt.Errorf("the pages do not end"))
	}

	step("paging", func() {
		for _, size := range pageSizes {
			totals := readPages("SELECT * FROM c", everywhere, size)
			sort.Ints(totals)
			equal(len(totals), 40)
			equal(totals[39], 39)
		}
	})

	step("paging-order-by", func() {
		for _, size := range pageSizes {
			equal(readPages("SELECT * FROM c ORDER BY c.total", key("c1"), size), []int{1, 9, 17, 25, 33})
		}
	})

	step("paging-order-by-across", func() {
		for _, size := range pageSizes {
			totals := readPages("SELECT * FROM c ORDER BY c.total", everywhere, size)
			equal(sort.IntsAreSorted(totals), true)
			equal(len(totals), 40)
		}
	})

	// Change feed

	step("change-feed", func() {
		events := createContainer(azcosmos.ContainerProperties{ID: "events"}, "/customer", 0)
		create(events, "ann", item{ID: "1", Customer: "ann"})
		create(events, "bob", item{ID: "2", Customer: "bob"})
		must(events.UpsertItem(ctx, key("ann"), toJSON(item{ID: "1", Customer: "ann", Total: 1}), nil))
		continuations := map[azcosmos.FeedRange]string{}
		equal(readFeed(events, continuations), []string{"2", "1"})
		create(events, "ann", item{ID: "3", Customer: "ann"})
		equal(readFeed(events, continuations), []string{"3"})
	})

	step("change-feed-across", func() {
		equal(len(readFeed(orders, map[azcosmos.FeedRange]string{})), 40)
	})

	absent("change-feed-processor", "the client reads the feed by pages only")
	absent("change-feed-processor-metadata", "the client reads the feed by pages only")

	// Throughput

	step("throughput", func() {
		current, _ := must(orders.ReadThroughput(ctx, nil)).ThroughputProperties.ManualThroughput()
		equal(current, int32(20_000))
		must(orders.ReplaceThroughput(ctx, azcosmos.NewManualThroughputProperties(21_000), nil))
		current, _ = must(orders.ReadThroughput(ctx, nil)).ThroughputProperties.ManualThroughput()
		equal(current, int32(21_000))
	})

	absent("stored-procedure", "the client has no calls for scripts")
	absent("trigger", "the client has no calls for scripts")
	absent("user-defined-function", "the client has no calls for scripts")
	absent("users", "the client has no calls for users")
	absent("resource-token", "the client takes only account keys and Entra tokens")

	// Expiry by the manual clock

	step("expiry-read", func() {
		createContainer(azcosmos.ContainerProperties{ID: "sessions", DefaultTimeToLive: to.Ptr(int32(60))}, "/user", 0)
		create(sessions, "ann", item{ID: "default", User: "ann"})
		create(sessions, "ann", item{ID: "longer", User: "ann", TTL: 90})
		advanceClock("59s")
		equal(read(sessions, "ann", "default").ID, "default")
		advanceClock("1s")
		equal(refusal(sessions.ReadItem(ctx, key("ann"), "default", nil)), 404)
		equal(read(sessions, "ann", "longer").ID, "longer")
	})

	step("expiry-query", func() {
		equal(queryAll[string](sessions, "SELECT VALUE c.id FROM c", everywhere, nil), []string{"longer"})
	})

	step("expiry-feed", func() {
		equal(readFeed(sessions, map[azcosmos.FeedRange]string{}), []string{"longer"})
	})

	// The connection

	absent("binary-json", "the client sends and reads JSON as text")
	absent("http2", "the client speaks HTTP/2 only over https, and only if the server offers it")

	step("https", func() {
		// SSL_CERT_FILE names the certificate that "mayfly cert" writes.
		secure := must(azcosmos.NewClientWithKey(strings.Replace(endpoint, "http:", "https:", 1), credential, nil))
		equal(read(must(secure.NewContainer("shop", "carts")), "ann", "cart1").ID, "cart1")
	})

	step("delete-database", func() {
		must(database.Delete(ctx, nil))
		equal(refusal(database.Read(ctx, nil)), 404)
	})
}
