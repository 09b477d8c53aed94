"""Runs one step of the story and prints its outcome as a JSON line. A step that fails does not end the story."""

import json

from azure.cosmos.exceptions import CosmosHttpResponseError


def step(name):
    """Decorates a function: it runs at once, as the step with this name."""

    def run(function):
        try:
            function()
            outcome = {"ok": True}
        except CosmosHttpResponseError as error:
            # The service answers so when a query needs something that only a newer client can do.
            if "which the calling client does not support" in error.message:
                return absent(name, "the client cannot do this over several partitions")
            outcome = {"ok": False, "why": f"{error.status_code}: {error.message}"}
        except Exception as error:
            outcome = {"ok": False, "why": f"{type(error).__name__}: {error}"}
        print(json.dumps({"step": name, **outcome}), flush=True)
        return function

    return run


def absent(name, why):
    """The client has no call for this step."""
    print(json.dumps({"step": name, "absent": why}), flush=True)


def refusal(call):
    """The status that the service refuses a call with."""
    try:
        call()
    except CosmosHttpResponseError as error:
        return error.status_code
    return None
