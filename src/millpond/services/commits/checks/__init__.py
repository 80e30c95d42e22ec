"""Checks before a tree becomes a commit."""
