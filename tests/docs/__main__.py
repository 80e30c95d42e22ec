"""Lists the pages with commands: how each is run, and which blocks nothing here runs, with the reason."""

from __future__ import annotations

from tests.docs.blocks import pages

for page in pages():
    blocks = [block for block in page.blocks if block.kind in ("session", "script")]
    if blocks:
        print(f"{page.name}: {len(blocks)} blocks, {page.runs or 'parsed only'}")
    for block in blocks:
        if block.not_run:
            print(f"  {block.where}: {block.not_run}")
