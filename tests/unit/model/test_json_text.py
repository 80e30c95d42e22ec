"""NUL in JSON documents."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from millpond.model.json_text import has_nul, without_nul


@given(st.text(st.sampled_from("\0\\u0a")))
def test_nul_is_found_and_replaced_and_nothing_else(text: str) -> None:
    document = json.dumps({text: [text]})
    assert has_nul(document) == ("\0" in text)
    clean = text.replace("\0", "\ufffd")
    assert json.loads(without_nul(document)) == {clean: [clean]}
