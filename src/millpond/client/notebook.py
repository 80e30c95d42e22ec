"""Notebooks: detect one, and show a link under the cell. Never imports IPython."""

from __future__ import annotations

import html
import sys
from typing import Any


def in_notebook() -> bool:
    """True if this process is a notebook kernel (not a plain IPython shell)."""
    shell = _shell()
    return shell is not None and type(shell).__name__ == "ZMQInteractiveShell"


def show_link(url: str, text: str) -> None:
    display = sys.modules.get("IPython.display")
    if display is None:
        sys.stderr.write(f"millpond: {text} at {url}\n")
        return
    link = f'Millpond: <a href="{html.escape(url, quote=True)}" target="_blank">{html.escape(text)}</a>'
    display.display(display.HTML(link))


def _shell() -> Any:
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None
