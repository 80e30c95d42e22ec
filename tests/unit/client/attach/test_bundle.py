"""What is brought to a machine, and when its own packages must be fetched there instead."""

from __future__ import annotations

import tarfile
from dataclasses import replace
from io import BytesIO

import pytest

from millpond.client.attach.bundle import RemoteMachine, make_bundle, requirements
from millpond.client.attach.ssh import parse_address
from millpond.errors import BadRequest

HERE = RemoteMachine("Linux", "x86_64", (3, 11), "glibc 2.36")


@pytest.mark.parametrize(
    ("there", "usable"),
    [
        (HERE, True),
        (replace(HERE, libc="glibc 2.41"), True),
        (replace(HERE, libc="glibc 2.9"), False),
        (replace(HERE, libc=""), False),
        (replace(HERE, python=(3, 12)), False),
        (replace(HERE, machine="aarch64"), False),
        (replace(HERE, system="Darwin"), False),
    ],
)
def test_packages_are_brought_only_where_they_work(there: RemoteMachine, usable: bool) -> None:
    assert there.can_use_packages_of(HERE) is usable


def test_a_bundle_without_packages_is_millpond_alone_and_its_name_follows_its_content() -> None:
    name, data = make_bundle(with_packages=False)
    assert make_bundle(with_packages=False)[0] == name
    with tarfile.open(fileobj=BytesIO(data)) as tar:
        names = tar.getnames()
    assert "millpond/agent/keeper/keeper.py" in names and "millpond/__main__.py" in names
    assert {one.partition("/")[0] for one in names} == {"millpond"}
    assert not [one for one in names if "__pycache__" in one or one.startswith("millpond/api/static/")]


def test_an_agent_needs_nothing_of_the_server() -> None:
    names = " ".join(requirements())
    assert "httpx" in names and "psutil" in names
    assert "sqlalchemy" not in names and "asyncssh" not in names


def test_a_machine_is_written_user_at_host() -> None:
    assert parse_address("ops@gpu7") == ("ops", "gpu7")
    assert parse_address("gpu7") == (None, "gpu7")
    for wrong in ("", "ops@", "ops@-oProxyCommand=x"):
        with pytest.raises(BadRequest):
            parse_address(wrong)
