"""Writes the first words of a text as a list."""

import json
import os
from pathlib import Path

params = json.loads(Path(os.environ["MILL_PARAMS"]).read_text())
words = Path(os.environ["MILL_INPUT_WORDS"], "words.txt").read_text().split()
print("found", len(words), "words")
Path(os.environ["MILL_VALUES"]).write_text(json.dumps({"list": words[: params["n"]]}))
