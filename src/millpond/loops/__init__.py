"""Thin drivers that call services again and again."""
