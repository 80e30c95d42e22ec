"""The ports of interactive jobs, each at a host of its own (docs/design/007-two-origins.md)."""
