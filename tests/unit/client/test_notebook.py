from __future__ import annotations

import sys
from types import SimpleNamespace

import pytest

from millpond.client.notebook import in_notebook, show_link


class ZMQInteractiveShell:
    """What IPython calls the shell of a notebook's kernel."""


def test_a_script_is_no_notebook() -> None:
    assert in_notebook() is False


def test_a_notebook_shows_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=ZMQInteractiveShell))  # type: ignore[arg-type]
    display = SimpleNamespace(HTML=str, display=shown.append)
    monkeypatch.setitem(sys.modules, "IPython.display", display)  # type: ignore[arg-type]
    assert in_notebook() is True
    show_link('http://lab/runs/1?a="b"', "run <1>")
    assert shown == ['Millpond: <a href="http://lab/runs/1?a=&quot;b&quot;" target="_blank">run &lt;1&gt;</a>']
