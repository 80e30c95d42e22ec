"""Shapes of `wire` for commands that people wait for, read and written without pydantic."""
