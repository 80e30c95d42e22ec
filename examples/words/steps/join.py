"""Hangs all pictures up, one below the other."""

import json
import os
from pathlib import Path

folder = Path(os.environ["MILL_INPUT_PICTURES"])
pictures = [(one / "word.txt").read_text() for one in sorted(folder.iterdir(), key=lambda one: int(one.name))]
Path(os.environ["MILL_OUTPUT"], "poster", "poster.txt").write_text("\n".join(pictures))
Path(os.environ["MILL_VALUES"]).write_text(json.dumps({"pictures": len(pictures)}))
