"""Writes the tables of docs/library.md from the components themselves: parameters, inputs and outputs."""

from __future__ import annotations

import sys
from pathlib import Path

from millpond.library.catalog import Catalog
from millpond.library.describe import markdown

PAGE = Path(__file__).resolve().parent.parent / "docs" / "library.md"
MARK = "<!-- Made by dev/make_library_docs.py from here on. -->\n"


def main() -> int:
    head, mark, _ = PAGE.read_text("utf-8").partition(MARK)
    assert mark, f"{PAGE} has lost its mark"
    PAGE.write_text(head + MARK + "\n" + sections(), "utf-8")
    return 0


def sections() -> str:
    found = [one for one in Catalog().all() if one.origin == "built-in"]
    return "\n".join(markdown(one) for one in found).rstrip() + "\n"


if __name__ == "__main__":
    sys.exit(main())
