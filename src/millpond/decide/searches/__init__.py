"""Decisions of hyperparameter searches: what is tried next, pruned, told, and why (docs/design/018)."""
