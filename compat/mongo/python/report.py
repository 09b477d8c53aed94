"""Runs one step of the story and prints its outcome as a JSON line. A step that fails does not end the story."""

import json

from pymongo.errors import PyMongoError


def step(name):
    """Decorates a function: it runs at once, as the step with this name."""

    def run(function):
        try:
            function()
            outcome = {"ok": True}
        except Exception as error:
            outcome = {"ok": False, "why": f"{type(error).__name__}: {error}"}
        print(json.dumps({"step": name, **outcome}), flush=True)
        return function

    return run


def refusal(call):
    """The code that the server refuses a call with."""
    try:
        call()
    except PyMongoError as error:
        return error.code
    return None
