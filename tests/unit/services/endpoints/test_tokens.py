"""Tokens of endpoints: what the server signs, the router's own code verifies, without asking."""

from __future__ import annotations

import json

import pytest

from millpond.db import endpoint_tokens as rows
from millpond.errors import Forbidden, NotFound, NotSignedIn
from millpond.serve.router.config import RouterConfig, read_config
from millpond.serve.router.tokens import TokenRefused, TokenVerifier
from millpond.services.endpoints import endpoints, tokens
from tests.unit.services.endpoints.test_endpoints import create
from tests.unit.services.endpoints.test_rounds import Serving
from tests.unit.services.world import World


def router_config(serving: Serving) -> RouterConfig:
    return read_config(json.dumps(serving.config()))


@pytest.fixture
def serving(world: World, model: str) -> Serving:
    create(world, environment="none")
    found = Serving(world)
    found.turn(3)
    return found


def made(world: World, name: str = "ci", seconds: int = 3600) -> str:
    return tokens.create(
        world.deps, world.maria, world.project, "xray", name=name, seconds=seconds, quota=60
    ).secret  # fmt: skip


def test_the_router_takes_what_the_server_signed(serving: Serving) -> None:
    world, secret = serving.world, made(serving.world)
    now = world.clock.now().timestamp()
    claims = TokenVerifier(router_config(serving)).verify(secret, endpoint="xray", now=now)
    assert claims.quota == 60 and claims.project == world.project.name
    with pytest.raises(TokenRefused, match="expired"):
        TokenVerifier(router_config(serving)).verify(secret, endpoint="xray", now=now + 3601)
    with pytest.raises(TokenRefused, match="not for this endpoint"):
        TokenVerifier(router_config(serving)).verify(secret, endpoint="other", now=now)
    head, _, tail = secret.partition(".")
    with pytest.raises(TokenRefused):
        TokenVerifier(router_config(serving)).verify(f"{head}x.{tail}", endpoint="xray", now=now)


def test_a_revoked_token_is_refused_here_and_at_the_router(serving: Serving) -> None:
    world, secret = serving.world, made(serving.world)
    tokens.verify(world.deps, secret, world.project.name, "xray")
    with pytest.raises(NotFound):
        tokens.revoke(world.deps, world.maria, world.project, "xray", "other")
    tokens.revoke(world.deps, world.maria, world.project, "xray", "ci")
    serving.turn(1)
    with pytest.raises(TokenRefused, match="revoked"):
        TokenVerifier(router_config(serving)).verify(secret, endpoint="xray", now=world.clock.now().timestamp())
    with pytest.raises(NotSignedIn, match="revoked"):
        tokens.verify(world.deps, secret, world.project.name, "xray")
    assert tokens.list_tokens(world.deps, world.maria, world.project, "xray")[0].revoked_at is not None


def test_a_token_opens_no_other_endpoint_and_none_that_gets_the_name_later(serving: Serving) -> None:
    world, secret = serving.world, made(serving.world)
    with pytest.raises(Forbidden):
        tokens.verify(world.deps, secret, world.project.name, "beside")
    with pytest.raises(NotSignedIn):
        tokens.verify(world.deps, secret[:-3] + "abc", world.project.name, "xray")
    endpoints.delete(world.deps, world.maria, world.project, "xray")
    serving.turn(8)
    create(world, environment="none")
    serving.turn(3)
    with pytest.raises(TokenRefused, match="revoked"):
        TokenVerifier(router_config(serving)).verify(secret, endpoint="xray", now=world.clock.now().timestamp())


def test_the_private_key_is_sealed(serving: Serving) -> None:
    made(serving.world)
    with serving.world.deps.db.read() as tx:
        (key,) = rows.keys(tx)
    assert serving.world.deps.seal.open(key.private, f"signing key {key.id}").encode() not in key.private
