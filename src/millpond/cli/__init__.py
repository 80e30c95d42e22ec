"""The command line, one file per noun, on top of the client."""

import gc

# Commands make many objects and hardly any cycles: those are looked for less often than after every 700 objects.
gc.set_threshold(50_000, 20, 20)
