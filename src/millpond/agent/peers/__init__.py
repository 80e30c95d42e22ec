"""Cached commits sent from site to site: one agent serves what its volumes hold, another fills from it (021)."""
