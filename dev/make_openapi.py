"""Writes web/openapi.json, from which the page's API types are generated, out of the server's own routes."""

from __future__ import annotations

import json
import sys
import tempfile
from contextlib import closing
from pathlib import Path

from millpond.api.server import create_app
from millpond.blobs.location import open_store
from millpond.db.engine import Database
from millpond.services.deps import Deps, SystemClock
from millpond.services.events import EventHub
from millpond.settings import Settings

OPENAPI = Path(__file__).resolve().parent.parent / "web" / "openapi.json"


def document() -> str:
    """The OpenAPI document as text, the same on every machine. Describing the routes asks nothing of the database."""
    with tempfile.TemporaryDirectory() as directory:
        settings = Settings(data_dir=Path(directory))
        hub = EventHub()
        with closing(Database(settings.database)) as database:
            deps = Deps(database, open_store("memory:"), SystemClock(), hub, settings, b"")
            return json.dumps(create_app(deps, hub).openapi(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def main() -> int:
    OPENAPI.write_text(document())
    print(f"▸ wrote {OPENAPI.name} from the server's routes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
