"""Names, replicas, quotas and tokens: who may ask, and who answers."""

from __future__ import annotations

import json
import time
from collections import Counter

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import example, given
from hypothesis import strategies as st

from millpond.serve.errors import ServeError
from millpond.serve.router.config import ConfigError, ReplicaAddress, RoutedVersion, read_config
from millpond.serve.router.dispatch import Dispatcher
from millpond.serve.router.names import Names
from millpond.serve.router.quota import Quotas
from millpond.serve.router.replicas import Replica, least_outstanding
from millpond.serve.router.tokens import TokenRefused, TokenVerifier
from tests.unit.serve.router.routes import a_document, a_replica, a_token, an_endpoint


def configured(*endpoints: object, **more: object) -> Dispatcher:
    dispatcher = Dispatcher()
    dispatcher.apply(read_config(json.dumps(a_document(*endpoints, **more))))  # type: ignore[arg-type]
    return dispatcher


TWO = a_document(
    an_endpoint("xray", {3: 95, 5: 5}, replicas=[a_replica("unix:/a", 3), a_replica("unix:/b", 6)]),
    an_endpoint("other", versions=[{"model": "cats", "version": 1, "weight": 100}]),
    an_endpoint(
        "third", versions=[{"model": "dogs", "version": 1, "weight": 40}, {"model": "cats", "version": 1, "weight": 60}]
    ),
)


@pytest.mark.parametrize(
    ("model", "version", "endpoint", "expected"),
    [
        ("xray", "", None, "xray: chest-xray@3 chest-xray@5"),
        ("chest-xray", "", None, "xray: chest-xray@3 chest-xray@5"),
        ("xray", "5", None, "xray: chest-xray@5"),
        ("xray", "6", None, "xray: chest-xray@6"),
        ("xray", "9", None, "404"),
        ("dogs", "", None, "third: dogs@1"),
        ("cats", "", None, "400"),
        ("cats", "", "third", "third: cats@1"),
        ("third", "", "third", "third: dogs@1 cats@1"),
        ("cats", "", "xray", "404"),
        ("nothing", "", None, "404"),
        ("xray", "", "nothing", "404"),
        ("xray", "three", None, "404"),
    ],
)
def test_names(model: str, version: str, endpoint: str | None, expected: str) -> None:
    try:
        asked = Names(read_config(json.dumps(TWO))).resolve(model, version, endpoint)
        found = f"{asked.endpoint.name}: {' '.join(map(str, asked.versions))}"
    except ServeError as error:
        found = str(error.status)
    assert found == expected


@given(st.lists(st.integers(0, 5), min_size=1, max_size=6), st.integers(0, 10))
def test_the_replica_with_the_fewest_outstanding_requests_is_chosen(outstanding: list[int], start: int) -> None:
    replicas = [
        Replica(ReplicaAddress(str(index), RoutedVersion("m", 1), "unix:/x")) for index in range(len(outstanding))
    ]
    for replica, count in zip(replicas, outstanding, strict=True):
        replica.outstanding = count
    chosen = least_outstanding(replicas, start=start)
    assert chosen is not None and chosen.outstanding == min(outstanding)
    other = least_outstanding(replicas, start=start, excluded=(chosen,))
    assert other is not None
    assert (other is chosen) == (len(replicas) == 1)


def test_equals_take_turns() -> None:
    dispatcher = configured(an_endpoint(replicas=[a_replica("unix:/a"), a_replica("unix:/b"), a_replica("unix:/c")]))
    target = dispatcher.target("xray")
    chosen: Counter[str] = Counter()
    for _ in range(30):
        replica = dispatcher.choose(target)
        assert replica is not None
        chosen[replica.address.id] += 1
        dispatcher.release(target, replica)
    assert chosen == {"unix:/a": 10, "unix:/b": 10, "unix:/c": 10}


def test_a_version_without_ready_replica_leaves_its_share_to_the_others() -> None:
    replicas = [a_replica("unix:/a", 3), a_replica("unix:/b", 5, state="draining")]
    dispatcher = configured(an_endpoint(weights={3: 50, 5: 50}, replicas=replicas))
    target = dispatcher.target("xray")
    assert {str(dispatcher.choose(target).address.serves) for _ in range(10)} == {"chest-xray@3"}  # type: ignore[union-attr]
    assert dispatcher.choose(dispatcher.target("xray", "5")) is None
    for replica in dispatcher.replicas:
        dispatcher.set_answers(replica, False)
    assert dispatcher.choose(target) is None


def test_weights_changed_in_between_start_a_new_count() -> None:
    replicas = [a_replica("unix:/a", 3), a_replica("unix:/b", 5)]
    dispatcher = configured(an_endpoint(weights={3: 95, 5: 5}, replicas=replicas))

    def counts(number: int) -> Counter[int]:
        found: Counter[int] = Counter()
        for _ in range(number):
            target = dispatcher.target("xray")
            replica = dispatcher.choose(target)
            assert replica is not None
            found[replica.address.serves.version] += 1
            dispatcher.release(target, replica)
        return found

    assert counts(10_000) == {3: 9500, 5: 500}
    counts(37)
    changed = a_document(an_endpoint(weights={3: 60, 5: 40}, replicas=replicas), revision=2)
    dispatcher.apply(read_config(json.dumps(changed)))
    assert counts(10_000) == {3: 6000, 5: 4000}
    # Another revision with the same weights goes on where it was.
    counts(1)
    dispatcher.apply(read_config(json.dumps({**changed, "revision": 3})))
    assert counts(99) + Counter({3: 1}) == {3: 60, 5: 40}


def test_outstanding_requests_survive_a_new_configuration() -> None:
    document = a_document(an_endpoint(replicas=[a_replica("unix:/a"), a_replica("unix:/b")]))
    dispatcher = Dispatcher()
    dispatcher.apply(read_config(json.dumps(document)))
    target = dispatcher.target("xray")
    replica = dispatcher.choose(target)
    assert replica is not None
    document["endpoints"][0]["replicas"][0]["state"] = "draining"
    dispatcher.apply(read_config(json.dumps(document)))
    assert replica in dispatcher.replicas and replica.outstanding == 1
    dispatcher.release(target, replica)
    assert dispatcher.stats["xray"].of(RoutedVersion("chest-xray", 3)).outstanding == 0


@given(st.integers(1, 600), st.lists(st.floats(0, 5), max_size=200))
def test_no_minute_exceeds_two_quotas_and_a_steady_rate_is_never_refused(quota: int, gaps: list[float]) -> None:
    quotas, now, taken = Quotas(), 0.0, 0
    for gap in gaps:
        now += gap
        taken += quotas.take("e", "t", per_minute=quota, now=now) == 0
    assert taken <= quota + now * quota / 60 + 1e-6
    steady = Quotas()
    assert all(steady.take("e", "t", per_minute=quota, now=number * 60 / quota) == 0 for number in range(100))


def test_a_used_up_quota_says_when_to_come_back() -> None:
    quotas = Quotas()
    assert [quotas.take("e", "t", per_minute=2, now=0) for _ in range(3)] == [0, 0, 30]
    assert quotas.take("e", "another", per_minute=2, now=0) == 0
    assert quotas.take("e", "t", per_minute=2, now=29) == pytest.approx(1)
    assert quotas.take("e", "t", per_minute=2, now=30) == 0


def test_tokens() -> None:
    cases: list[tuple[str, list[str], str]] = [
        (a_token(), [], "t1"),
        (a_token(), ["t1"], "401 revoked"),
        (a_token(seconds=-1), [], "401 expired"),
        (a_token("other"), [], "403 for team-a/other"),
        (a_token(project="team-b"), [], "403 for team-b/xray"),
        (a_token(key=Ed25519PrivateKey.generate()), [], "401 signature"),
        (a_token()[:-2], [], "401 signature"),
        (a_token(id=["t1"]), [], "401 cannot be read"),
        ("mep_e30.AAAA", [], "401 cannot be read"),
        ("mep_.", [], "401 cannot be read"),
        ("mep_%%%.AAAA", [], "401 cannot be read"),
        ("hello", [], "401 begin with mep_"),
        ("mep_" + "a" * 5000 + ".a", [], "401 begin with mep_"),
    ]
    for token, revoked, expected in cases:
        verifier = TokenVerifier(read_config(json.dumps(a_document(revoked=revoked))))
        # The second time the signature is known.
        for _ in range(2):
            try:
                found = verifier.verify(token, endpoint="xray", now=time.time()).id
            except TokenRefused as refused:
                found = f"{refused.status} {refused.reason}"
            status, _, words = expected.partition(" ")
            assert found.startswith(status) and words in found, token


def test_a_token_signed_with_an_unknown_key_is_refused() -> None:
    verifier = TokenVerifier(read_config(json.dumps(a_document(keys=[]))))
    with pytest.raises(TokenRefused, match="key that this router does not know"):
        verifier.verify(a_token(), endpoint="xray", now=0)


@example("l")  # the last character of a signature has two bits that mean nothing
@given(st.text() | st.binary().map(lambda content: content.decode("latin-1")))
def test_no_text_is_a_token_by_accident(text: str) -> None:
    verifier = TokenVerifier(read_config(json.dumps(a_document())))
    for token in (text, f"mep_{text}", f"{a_token()[:-1]}{text}"):
        if token != a_token():
            with pytest.raises(TokenRefused):
                verifier.verify(token, endpoint="xray", now=0)


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"schema": "millpond.router/2"}, "schema"),
        ({"endpoints": [{}]}, r"endpoints\[0\].name"),
        ({"endpoints": [an_endpoint(), an_endpoint()]}, "xray is there twice"),
        ({"endpoints": [an_endpoint(replicas=[a_replica("http://x")])]}, r"replicas\[0\].http"),
        ({"endpoints": [an_endpoint(weights={3: 101})]}, "weight: 101"),
        ({"endpoints": [an_endpoint(log={"level": "all"})]}, "level"),
        ({"endpoints": [an_endpoint(log={"sample": 2})]}, "sample"),
        ({"endpoints": [an_endpoint(hold={"seconds": float("inf")})]}, "seconds"),
        ({"endpoints": [an_endpoint(public="yes")]}, "public"),
        ({"keys": [{"id": "k", "ed25519": "AAAA"}]}, "32 bytes"),
        ({"keys": {"id": "k"}}, "keys: expected a list"),
    ],
)
def test_a_configuration_that_cannot_be_used_names_the_place(change: dict[str, object], place: str) -> None:
    with pytest.raises(ConfigError, match=place):
        read_config(json.dumps({**a_document(), **change}))
