"""Flows from this machine: run locally without a server."""
