"""Cached commits as people see them, why they are there or not, and what asking for one would do."""
