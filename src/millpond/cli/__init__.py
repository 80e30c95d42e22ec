"""The command line, one file per noun, on top of the client."""

import gc

# Commands make many objects and hardly any cycles: looking for those after every 700 costs a tenth of their time.
gc.set_threshold(50_000, 20, 20)
