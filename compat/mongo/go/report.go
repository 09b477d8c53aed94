package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"go.mongodb.org/mongo-driver/v2/mongo"
)

// step runs one step of the story and prints its outcome as a JSON line. A step that fails does not end the story.
func step(name string, run func()) {
	outcome := map[string]any{"step": name}
	func() {
		defer func() {
			switch failure := recover().(type) {
			case nil:
				outcome["ok"] = true
			case error:
				outcome["ok"], outcome["why"] = false, strings.Join(strings.Fields(failure.Error()), " ")
			default:
				panic(failure)
			}
		}()
		run()
	}()
	line, _ := json.Marshal(outcome)
	fmt.Fprintln(os.Stdout, string(line))
}

// must ends the step with an error, if there is one.
func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func equal(actual, expected any) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Errorf("%v instead of %v", actual, expected))
	}
}

// refused says whether the server refuses a call with this code.
func refused(code int, err error) {
	var answer mongo.ServerError
	if !errors.As(err, &answer) || !answer.HasErrorCode(code) {
		panic(fmt.Errorf("%v instead of the code %d", err, code))
	}
}
