"""Egress: what fills brought over links is counted, shown and kept within budgets."""
