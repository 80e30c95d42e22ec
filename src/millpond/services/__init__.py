"""Use cases, one module per noun: load, decide, apply."""
