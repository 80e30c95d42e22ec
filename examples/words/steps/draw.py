"""Draws one word: a frame of stars."""

import json
import os
from pathlib import Path

word = json.loads(Path(os.environ["MILL_PARAMS"]).read_text())["word"]
line = "*" * (len(word) + 4)
print("drawing", word)
Path(os.environ["MILL_OUTPUT"], "picture", "word.txt").write_text(f"{line}\n* {word} *\n{line}\n")
