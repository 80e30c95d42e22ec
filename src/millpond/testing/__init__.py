"""Shipped for tests: builders, fakes, contract suites, strategies."""
