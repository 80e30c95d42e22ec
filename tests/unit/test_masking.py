"""No secret leaves, however the stream is cut, and every offset stays what it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millpond.masking import LEAST_SECRET, MARKED, Mask, secrets_of

TOKEN = b"mill_" + b"aZ09-_" * 8


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (b"token " + TOKEN + b"!", b"token mill_" + b"*" * 48 + b"!"),
        (b"mill_short is a word", b"mill_short is a word"),
        (b"the password is hunter-22.", b"the password is *********."),
        (b"hunter-hunter-22", b"hunter-*********"),
        (
            b"GET https://s3/b/k?X-Amz-Credential=AKIA0123456789/2026&X-Amz-Signature=0123456789abcdef01 200",
            b"GET https://s3/b/k?X-Amz-Credential=*******************&X-Amz-Signature=****************** 200",
        ),
        (b"https://a.blob/c?se=1&sig=abcdefghij%2Bklmnop", b"https://a.blob/c?se=1&sig=*******************"),
        (b"/lake/k?expires=1&signature=" + b"0" * 64, b"/lake/k?expires=1&signature=" + b"*" * 64),
        (b"config=1 design=2 Signature=none", b"config=1 design=2 Signature=none"),
    ],
)
def test_what_is_hidden(text: bytes, shown: bytes) -> None:
    assert Mask([b"hunter-22"]).apply(text) == shown


def test_overlapping_secrets_are_hidden_whole() -> None:
    assert Mask([b"abcabc"]).apply(b"-abcabcabc-") == b"-*********-"
    assert Mask([b"abcdef", b"defghi"]).apply(b"abcdefghi") == b"*********"


def test_a_secret_of_many_lines_is_hidden_line_by_line() -> None:
    mask = Mask([b"-----BEGIN KEY-----\nMIIEvQIBADAN\n  Bgkqhkigx=\n\nab\n"])
    assert mask.apply(b"| MIIEvQIBADAN |\n| Bgkqhkigx= | ab") == b"| ************ |\n| ********** | ab"


def test_which_variables_are_secret() -> None:
    env = {"MILL_TOKEN": "one-token", "LR": "0.001-or-so", "AWS_SECRET_ACCESS_KEY": "a/b+c", "WANDB": "w and b"}
    assert secrets_of(env, {"WANDB"}) == [b"one-token", b"a/b+c", b"a%2Fb%2Bc", b"w and b", b"w%20and%20b"]


LETTERS = st.sampled_from(
    [b"a", b"b", b"ab", b"=", b" ", b"\n", b"mill_", b"mil", b"l_", b"Signature=", b"?sig=", b"x" * 9]
)
TEXTS = st.lists(LETTERS, max_size=60).map(b"".join)
SECRETS = st.lists(st.lists(LETTERS, min_size=1, max_size=8).map(b"".join), max_size=4)


def pieces(mask: Mask, text: bytes, cuts: list[int]) -> bytes:
    """As an agent reads a growing file: what is settled goes out, and each look begins anew with a little before."""
    sent = b""
    for end in [*sorted(min(cut, len(text)) for cut in cuts), len(text)]:
        begin = max(0, len(sent) - mask.reach)
        window = text[begin:end]
        settled = mask.settled(window) if end < len(text) else len(window)
        sent += mask.apply(window)[len(sent) - begin : max(settled, len(sent) - begin)]
    return sent


@given(text=TEXTS, secrets=SECRETS, cuts=st.lists(st.integers(0, 400), max_size=12))
def test_however_it_is_cut_the_same_bytes_are_hidden(text: bytes, secrets: list[bytes], cuts: list[int]) -> None:
    mask = Mask(secrets)
    whole = mask.apply(text)
    assert len(whole) == len(text)
    assert pieces(mask, text, cuts) == whole
    for secret in secrets:
        for line in secret.splitlines():
            assert len(line.strip()) < LEAST_SECRET or line.strip() not in whole


@given(text=TEXTS, secrets=SECRETS, cut=st.integers(0, 400), behind=TEXTS)
def test_what_is_settled_does_not_change(text: bytes, secrets: list[bytes], cut: int, behind: bytes) -> None:
    mask = Mask(secrets)
    settled = mask.settled(text)
    assert mask.apply(text)[:settled] == mask.apply(text + behind)[:settled]
    assert settled >= len(text) - max([len(m.prefix) + m.least for m in MARKED] + [len(s) for s in secrets])
