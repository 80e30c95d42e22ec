"""Commits that the server makes itself: edits, merges, reverts."""
