"""Where other machines reach this one, and where to listen for them."""

from __future__ import annotations

import socket

import pytest

from millpond.agent import own_address as module
from millpond.agent.own_address import is_loopback, listening_host, own_address


def test_a_server_elsewhere_tells_by_which_interface_this_machine_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    ways = {"lab.example.org": "10.0.0.7", "127.0.0.1": "127.0.0.1", "192.0.2.1": "192.168.1.7"}
    monkeypatch.setattr(module, "_towards", lambda host, port: ways.get(host))
    assert own_address("https://lab.example.org") == "10.0.0.7"
    assert own_address("http://127.0.0.1:8400") == "192.168.1.7", "a server on this machine says nothing"
    assert own_address("https://gone.example.org") == "192.168.1.7"
    ways.clear()
    assert own_address("http://127.0.0.1:8400") == "127.0.0.1"


def test_it_is_an_address_of_this_machine() -> None:
    with socket.socket() as probe:
        probe.bind((own_address("http://127.0.0.1:8400"), 0))


def test_it_listens_at_its_own_address_and_everywhere_for_one_that_is_translated() -> None:
    assert listening_host("127.0.0.1") == "127.0.0.1"
    assert listening_host("192.0.2.1") == "0.0.0.0"
    assert listening_host("2001:db8::1") == "[::]"
    assert is_loopback("127.0.0.1") and is_loopback("localhost") and not is_loopback("10.0.0.7")
