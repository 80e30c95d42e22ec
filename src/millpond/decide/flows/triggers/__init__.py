"""Triggers of flows: when they fire, what they watch, and what keeps them from it."""
