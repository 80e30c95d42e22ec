"""`mill docs`: which page of the server's documentation a topic leads to."""

from __future__ import annotations

from io import StringIO

import pytest

from millpond.cli.docs import page_of
from millpond.cli.report import report
from millpond.errors import MillError, NotReady
from tests.unit.cli.conftest import Mill

COMMANDS = {"data", "submit"}


@pytest.mark.parametrize(
    ("topic", "page"),
    [
        ("", ""),
        ("name_taken", "reference/errors/#name_taken"),
        ("api", "api/"),
        ("submit", "cli/#mill-submit"),
        ("mill data sync --force", "cli/#mill-data-sync"),
        ("fair share & quotas", "?q=fair%20share%20%26%20quotas"),
    ],
)
def test_pages_of_topics(topic: str, page: str) -> None:
    assert page_of(topic.split(), COMMANDS) == page


def test_the_address_is_that_of_the_server(mill: Mill) -> None:
    assert mill("docs", "data", "sync", "--server", "http://lab:1/").out == "http://lab:1/docs/cli/#mill-data-sync\n"
    assert mill("docs", "--server", "http://lab:1", "--json").out == '{"url": "http://lab:1/docs/"}\n'


@pytest.mark.parametrize(
    ("error", "last"),
    [
        (NotReady("Wait."), "  more: mill docs not_ready"),
        (NotReady("Wait.", hint="Do this."), "  hint: Do this."),
        (MillError("What."), "error: What."),
    ],
)
def test_an_error_without_a_hint_says_where_more_is(error: MillError, last: str) -> None:
    said = StringIO()
    report(error, as_json=False, stream=said)
    assert said.getvalue().splitlines()[-1] == last
