"""Use cases: load, decide, apply. A package for each part of the product; beside them what all of them need."""
