"""Run with: npx mayfly exec --clock manual -- pytest"""
import json
import os
import urllib.request

import pytest
from azure.cosmos import CosmosClient, PartitionKey

ENDPOINT = os.environ["COSMOS_ENDPOINT"]


def mayfly(call, body):
    request = urllib.request.Request(
        f"{ENDPOINT}/_mayfly/{call}", json.dumps(body).encode(), {"content-type": "application/json"}
    )
    with urllib.request.urlopen(request) as answer:
        return answer.read()


@pytest.fixture
def advance():
    """Moves the clock of the server: advance("1h")."""
    return lambda duration: mayfly("clock", {"advance": duration})


@pytest.fixture
def database():
    mayfly("reset", {})
    client = CosmosClient(ENDPOINT, os.environ["COSMOS_KEY"])
    return client.create_database("shop")


@pytest.fixture
def carts(database):
    return database.create_container("carts", PartitionKey("/customer"), default_ttl=3600)
