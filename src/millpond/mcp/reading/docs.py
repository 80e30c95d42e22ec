"""Reading tools about the documentation."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

import millpond
from millpond.client.transport import Request, Transport
from millpond.errors import MillError, NotFound
from millpond.mcp.docs_index import Section, from_markdown, from_site, page, search
from millpond.mcp.place import Place
from millpond.mcp.tool import Tools, reads

_INDEX = "search/search_index.json"
_SECONDS = 15.0
_PACKAGE = Path(millpond.__file__).parent


class DocsTools(Tools):
    def __init__(self, place: Place) -> None:
        super().__init__(place)
        self._sections: list[Section] | None = None

    @reads("Search the documentation")
    def search_docs(
        self,
        query: Annotated[str, Field(min_length=1, description="Words, a command, an option or an error code.")],
        limit: Annotated[int, Field(ge=1, le=30)] = 8,
    ) -> dict[str, Any]:
        """Search Millpond's documentation: commands, concepts, settings, error codes."""
        found = search(self._found(), query, limit)
        items = [{"location": one.location, "title": one.title, "excerpt": excerpt} for one, excerpt in found]
        return {"items": items} if items else {"items": [], "hint": "Nothing found. Try fewer or other words."}

    @reads("Read the documentation")
    def read_docs(
        self, location: Annotated[str, Field(description="As told by search_docs: a section, or a whole page.")]
    ) -> dict[str, Any]:
        """Read a section or page of Millpond's documentation."""
        text = page(self._found(), location)
        if text is None:
            raise NotFound(f"The documentation has no page {location!r}.", hint="Look for it with search_docs.")
        return {"location": location, "text": text}

    def _found(self) -> list[Section]:
        if self._sections is None:
            self._sections = _packaged() or _of_server(self._place) or _of_checkout()
        if not self._sections:
            raise NotFound(
                "No documentation at hand: neither this installation nor the server has it.",
                hint="Look at the help of a command instead: mill COMMAND --help",
            )
        return self._sections


def _packaged() -> list[Section]:
    """The site of this installation, whose files are kept compressed."""
    index = _PACKAGE / "api" / "documentation" / f"{_INDEX}.gz"
    return from_site(gzip.decompress(index.read_bytes())) if index.exists() else []


def _of_server(place: Place) -> list[Section]:
    """What the server answers below /docs; nothing if it does not."""
    transport = Transport(place.api.base_url, _SECONDS)
    try:
        answer = transport.exchange(Request("GET", f"{place.api.base_url}/docs/{_INDEX}", {}, None, _SECONDS))
        return from_site(answer.content) if answer.is_success else []
    except (MillError, ValueError):
        return []
    finally:
        transport.close()


def _of_checkout() -> list[Section]:
    folder = _PACKAGE.parents[1] / "docs"
    return from_markdown(folder) if (folder / "quickstart.md").exists() else []
