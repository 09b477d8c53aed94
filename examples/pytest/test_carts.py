import pytest
from azure.cosmos.exceptions import CosmosResourceNotFoundError


def test_a_cart_is_gone_after_an_hour(carts, advance):
    carts.create_item({"id": "c1", "customer": "ann"})
    advance("1h")
    with pytest.raises(CosmosResourceNotFoundError):
        carts.read_item("c1", "ann")
