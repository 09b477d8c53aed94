package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
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
				if leftToTheClient(failure) {
					outcome["absent"] = "the client cannot do this over several partitions"
				} else {
					outcome["ok"], outcome["why"] = false, strings.Join(strings.Fields(failure.Error()), " ")
				}
			default:
				panic(failure)
			}
		}()
		run()
	}()
	print(outcome)
}

// absent says that the client has no call for a step.
func absent(name, why string) {
	print(map[string]any{"step": name, "absent": why})
}

func print(outcome map[string]any) {
	line, _ := json.Marshal(outcome)
	fmt.Fprintln(os.Stdout, string(line))
}

// must ends the step with an error, if there is one.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func equal(actual, expected any) {
	if !reflect.DeepEqual(actual, expected) {
		panic(fmt.Errorf("%v instead of %v", actual, expected))
	}
}

// leftToTheClient says whether the service refused a query because the client has to merge the partitions' rows.
func leftToTheClient(failure error) bool {
	var answer *azcore.ResponseError
	return errors.As(failure, &answer) && answer.StatusCode == 400 &&
		answer.RawResponse.Header.Get("x-ms-substatus") == "1004"
}

// refusal is the status that the service refuses a call with.
func refusal[T any](_ T, err error) int {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return answer.StatusCode
	}
	return 0
}
