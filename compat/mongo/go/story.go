// What a program does with Mayfly through mongo-driver, the official driver for Go.
package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

type cart struct {
	ID       string   `bson:"_id"`
	Customer string   `bson:"customer"`
	Total    int      `bson:"total"`
	Items    []string `bson:"items,omitempty"`
}

type session struct {
	ID  string `bson:"_id"`
	TTL int    `bson:"ttl,omitempty"`
}

type event struct {
	Token     bson.Raw `bson:"_id"`
	Operation string   `bson:"operationType"`
	Key       bson.M   `bson:"documentKey"`
}

var (
	ctx = context.Background()
	uri = os.Getenv("MONGODB_URI")
)

// advanceClock moves the clock of Mayfly, which stands still otherwise.
func advanceClock(duration string) {
	body := strings.NewReader(`{"advance":"` + duration + `"}`)
	answer := must(http.Post(os.Getenv("MAYFLY_ENDPOINT")+"/_mayfly/clock", "application/json", body))
	answer.Body.Close()
	equal(answer.StatusCode, 200)
}

func findOne[T any](ctx context.Context, collection *mongo.Collection, id string) (found T) {
	check(collection.FindOne(ctx, bson.M{"_id": id}).Decode(&found))
	return found
}

func all[T any](cursor *mongo.Cursor, err error) (found []T) {
	check(err)
	check(cursor.All(ctx, &found))
	return found
}

func next(stream *mongo.ChangeStream) (found event) {
	if !stream.Next(ctx) {
		panic(fmt.Errorf("the stream ended: %v", stream.Err()))
	}
	check(stream.Decode(&found))
	return found
}

func isGone(collection *mongo.Collection, id string) {
	equal(collection.FindOne(ctx, bson.M{"_id": id}).Err(), mongo.ErrNoDocuments)
}

func main() {
	client := must(mongo.Connect(options.Client().ApplyURI(uri)))
	shop := client.Database("shop")
	carts := shop.Collection("carts")
	sessions := shop.Collection("sessions")

	// Documents

	step("connect", func() {
		equal(slices.Contains(must(client.ListDatabaseNames(ctx, bson.M{})), "admin"), true)
	})

	step("insert", func() {
		equal(must(carts.InsertOne(ctx, cart{ID: "cart0", Customer: "ann"})).InsertedID, "cart0")
		many := []cart{}
		for n := 1; n < 40; n++ {
			many = append(many, cart{ID: fmt.Sprintf("cart%d", n), Customer: fmt.Sprintf("c%d", (n-1)%4), Total: n})
		}
		equal(len(must(carts.InsertMany(ctx, many)).InsertedIDs), 39)
	})

	step("find", func() {
		equal(findOne[cart](ctx, carts, "cart7").Total, 7)
		order := options.Find().SetSort(bson.M{"total": -1}).SetProjection(bson.M{"total": 1})
		found := all[cart](carts.Find(ctx, bson.M{"total": bson.M{"$gte": 37}}, order))
		equal([]int{found[0].Total, found[1].Total, found[2].Total}, []int{39, 38, 37})
	})

	step("cursor", func() {
		order := options.Find().SetSort(bson.M{"total": 1}).SetBatchSize(7)
		for n, found := range all[cart](carts.Find(ctx, bson.M{}, order)) {
			equal(found.Total, n)
		}
	})

	step("collation", func() {
		var found cart
		english := options.FindOne().SetCollation(&options.Collation{Locale: "en", Strength: 2})
		check(carts.FindOne(ctx, bson.M{"customer": "ANN"}, english).Decode(&found))
		equal(found.ID, "cart0")
	})

	step("update", func() {
		change := bson.M{"$inc": bson.M{"total": 100}, "$push": bson.M{"items": "book"}}
		equal(must(carts.UpdateByID(ctx, "cart1", change)).ModifiedCount, int64(1))
		equal(findOne[cart](ctx, carts, "cart1"), cart{"cart1", "c0", 101, []string{"book"}})
		changed := must(carts.UpdateMany(ctx, bson.M{"customer": "c1"}, bson.M{"$set": bson.M{"items": bson.A{}}}))
		equal(changed.MatchedCount, int64(10))
	})

	step("upsert", func() {
		change := bson.M{"$set": bson.M{"customer": "bob", "total": 1}}
		made := must(carts.UpdateByID(ctx, "new", change, options.UpdateOne().SetUpsert(true)))
		equal(made.UpsertedID, "new")
	})

	step("replace", func() {
		must(carts.ReplaceOne(ctx, bson.M{"_id": "new"}, cart{ID: "new", Customer: "bob", Total: 2}))
		equal(findOne[cart](ctx, carts, "new").Total, 2)
	})

	step("find-and-modify", func() {
		var found cart
		after := options.FindOneAndUpdate().SetReturnDocument(options.After)
		change := bson.M{"$inc": bson.M{"total": 1}}
		check(carts.FindOneAndUpdate(ctx, bson.M{"_id": "new"}, change, after).Decode(&found))
		equal(found.Total, 3)
	})

	step("delete", func() {
		equal(must(carts.DeleteOne(ctx, bson.M{"_id": "new"})).DeletedCount, int64(1))
		equal(must(carts.CountDocuments(ctx, bson.M{})), int64(40))
	})

	step("unique-index", func() {
		members := shop.Collection("members")
		index := mongo.IndexModel{Keys: bson.M{"email": 1}, Options: options.Index().SetUnique(true)}
		must(members.Indexes().CreateOne(ctx, index))
		must(members.InsertOne(ctx, bson.M{"email": "ann@example.com"}))
		_, err := members.InsertOne(ctx, bson.M{"email": "ann@example.com"})
		refused(11000, err)
	})

	step("bulk", func() {
		result := must(carts.BulkWrite(ctx, []mongo.WriteModel{
			mongo.NewInsertOneModel().SetDocument(cart{ID: "bulk", Customer: "bob", Total: 1}),
			mongo.NewUpdateOneModel().SetFilter(bson.M{"_id": "bulk"}).SetUpdate(bson.M{"$inc": bson.M{"total": 1}}),
			mongo.NewDeleteOneModel().SetFilter(bson.M{"_id": "bulk"}),
		}))
		counts := []int64{result.InsertedCount, result.ModifiedCount, result.DeletedCount}
		equal(counts, []int64{1, 1, 1})
	})

	// Pipelines

	step("aggregate", func() {
		groups := all[bson.M](carts.Aggregate(ctx, bson.A{
			bson.M{"$match": bson.M{"customer": bson.M{"$ne": "ann"}}},
			bson.M{"$group": bson.M{"_id": "$customer", "carts": bson.M{"$sum": 1}}},
			bson.M{"$sort": bson.M{"_id": 1}},
		}))
		equal(groups[0], bson.M{"_id": "c0", "carts": int32(10)})
	})

	step("lookup", func() {
		must(shop.Collection("customers").InsertOne(ctx, bson.M{"_id": "ann", "city": "Paris"}))
		join := bson.M{"from": "customers", "localField": "customer", "foreignField": "_id", "as": "who"}
		stages := bson.A{bson.M{"$match": bson.M{"customer": "ann"}}, bson.M{"$lookup": join}}
		type joined struct{ Who []struct{ City string } }
		equal(all[joined](carts.Aggregate(ctx, stages))[0].Who[0].City, "Paris")
	})

	// Expiry by the manual clock

	step("ttl-index", func() {
		index := mongo.IndexModel{Keys: bson.M{"_ts": 1}, Options: options.Index().SetExpireAfterSeconds(60)}
		must(sessions.Indexes().CreateOne(ctx, index))
		equal(*must(sessions.Indexes().ListSpecifications(ctx))[1].ExpireAfterSeconds, int32(60))
	})

	step("expiry-find", func() {
		must(sessions.InsertMany(ctx, []session{{ID: "default"}, {ID: "longer", TTL: 90}}))
		advanceClock("59s")
		equal(findOne[session](ctx, sessions, "default").ID, "default")
		advanceClock("1s")
		isGone(sessions, "default")
		equal(findOne[session](ctx, sessions, "longer").TTL, 90)
	})

	step("expiry-count", func() {
		equal(must(sessions.CountDocuments(ctx, bson.M{})), int64(1))
		groups := all[bson.M](sessions.Aggregate(ctx, bson.A{bson.M{"$group": bson.M{"_id": "$_id"}}}))
		equal(groups, []bson.M{{"_id": "longer"}})
	})

	// Sessions and transactions

	step("session", func() {
		causal := options.Session().SetCausalConsistency(true)
		check(client.UseSessionWithOptions(ctx, causal, func(ctx context.Context) error {
			must(carts.InsertOne(ctx, cart{ID: "causal", Customer: "ann", Total: 1}))
			equal(findOne[cart](ctx, carts, "causal").Total, 1)
			return nil
		}))
	})

	step("transaction", func() {
		check(client.UseSession(ctx, func(ctx context.Context) error {
			_, err := mongo.SessionFromContext(ctx).WithTransaction(ctx, func(ctx context.Context) (any, error) {
				if _, err := carts.InsertOne(ctx, cart{ID: "paid", Customer: "bob", Total: 5}); err != nil {
					return nil, err
				}
				return carts.DeleteOne(ctx, bson.M{"_id": "causal"})
			})
			return err
		}))
		equal(findOne[cart](ctx, carts, "paid").Total, 5)
		isGone(carts, "causal")
	})

	step("transaction-abort", func() {
		check(client.UseSession(ctx, func(ctx context.Context) error {
			current := mongo.SessionFromContext(ctx)
			check(current.StartTransaction())
			must(carts.DeleteOne(ctx, bson.M{"_id": "paid"}))
			return current.AbortTransaction(ctx)
		}))
		equal(findOne[cart](ctx, carts, "paid").Total, 5)
	})

	// Change streams

	step("change-stream", func() {
		stream := must(carts.Watch(ctx, mongo.Pipeline{}))
		must(carts.InsertOne(ctx, cart{ID: "watched", Customer: "bob", Total: 1}))
		first := next(stream)
		equal([]any{first.Operation, first.Key["_id"]}, []any{"insert", "watched"})
		check(stream.Close(ctx))
		must(carts.UpdateByID(ctx, "watched", bson.M{"$set": bson.M{"total": 2}}))
		resumed := must(carts.Watch(ctx, mongo.Pipeline{}, options.ChangeStream().SetResumeAfter(first.Token)))
		equal(next(resumed).Operation, "update")
		check(resumed.Close(ctx))
	})

	step("change-stream-expiry", func() {
		stream := must(sessions.Watch(ctx, mongo.Pipeline{}))
		advanceClock("30s")
		// An event comes when the document is purged: that of an earlier death may come first.
		death := next(stream)
		for death.Key["_id"] != "longer" {
			death = next(stream)
		}
		equal(death.Operation, "delete")
		check(stream.Close(ctx))
	})

	// Users, files, TLS

	step("users", func() {
		command := bson.D{{Key: "createUser", Value: "reader"}, {Key: "pwd", Value: "secret"}, {Key: "roles", Value: bson.A{"read"}}}
		check(shop.RunCommand(ctx, command).Err())
		login := options.Credential{Username: "reader", Password: "secret", AuthSource: "shop"}
		reader := must(mongo.Connect(options.Client().ApplyURI(uri).SetAuth(login)))
		seen := reader.Database("shop").Collection("carts")
		equal(findOne[cart](ctx, seen, "paid").Total, 5)
		_, err := seen.DeleteOne(ctx, bson.M{"_id": "paid"})
		refused(13, err)
		check(reader.Disconnect(ctx))
	})

	step("gridfs", func() {
		bucket := shop.GridFSBucket(options.GridFSBucket().SetChunkSizeBytes(1000))
		must(bucket.UploadFromStream(ctx, "letter.txt", strings.NewReader(strings.Repeat("x", 2500))))
		var read bytes.Buffer
		must(bucket.DownloadToStreamByName(ctx, "letter.txt", &read))
		equal(read.Len(), 2500)
	})

	step("tls", func() {
		trusted := x509.NewCertPool()
		trusted.AppendCertsFromPEM(must(os.ReadFile(os.Getenv("MAYFLY_CERTIFICATE"))))
		secure := must(mongo.Connect(options.Client().ApplyURI(uri).SetTLSConfig(&tls.Config{RootCAs: trusted})))
		equal(findOne[cart](ctx, secure.Database("shop").Collection("carts"), "paid").Total, 5)
		check(secure.Disconnect(ctx))
	})

	step("drop", func() {
		check(shop.Drop(ctx))
		equal(must(carts.CountDocuments(ctx, bson.M{})), int64(0))
	})

	check(client.Disconnect(ctx))
}
